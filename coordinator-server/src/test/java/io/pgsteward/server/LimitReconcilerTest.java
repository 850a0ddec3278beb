package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.LimitRights;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.Observation;
import io.pgsteward.server.LimitReconciler.Outcome;
import io.pgsteward.server.config.InstanceConfig;
import io.pgsteward.testing.Seeds;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The order of looks and changes, on a server that is a map. */
@ExtendWith(Seeds.class)
class LimitReconcilerTest {

  private static final int OWN_PID = 1;

  private final Map<String, Integer> limits = new TreeMap<>();
  private final Map<String, Integer> connections = new TreeMap<>();
  private final Map<String, Integer> guarantees = new TreeMap<>();
  private final List<String> events = new ArrayList<>();
  private int budget = 30;
  private long now;
  private Runnable beforeLook = () -> {};
  private int failingChange = -1;

  private final Ticker ticker = () -> ++now;

  private final LimitReconciler.Target server =
      new LimitReconciler.Target() {
        private int changes;

        @Override
        public Observation look() {
          beforeLook.run();
          events.add("look");
          long started = ticker.nanos();
          List<Backend> backends = new ArrayList<>();
          backends.add(new Backend(OWN_PID, "coordinator", "postgres", false));
          connections.forEach(
              (role, count) -> {
                for (int i = 0; i < count; i++) {
                  backends.add(new Backend(OWN_PID + backends.size(), role, "shop", false));
                }
              });
          List<LoginRole> roles = new ArrayList<>();
          limits.forEach((role, limit) -> roles.add(new LoginRole(role, false, limit, true)));
          return new Observation(
              started,
              new ServerLimits(budget + 1, 0, 0),
              backends,
              OWN_PID,
              true,
              new Observation.Roles(roles, LimitRights.FUNCTION, ticker.nanos()));
        }

        @Override
        public void set(Map<String, Integer> changed) throws SQLException {
          events.add("set " + new TreeMap<>(changed));
          if (++changes == failingChange) {
            throw new SQLException("refused");
          }
          limits.putAll(changed);
        }
      };

  private Outcome run() throws SQLException {
    PolicyBook.Builder policies =
        PolicyBook.builder().ownRole("coordinator").defaultPolicy(TenantPolicy.DEFAULT);
    guarantees.forEach(
        (role, guarantee) ->
            policies.tenant(role + "@shop", new TenantPolicy(guarantee, TenantPolicy.NO_MAX, 1)));
    InstanceConfig instance =
        new InstanceConfig(
            new InstanceId("main"),
            "",
            "",
            "coordinator",
            null,
            0,
            EnforceMode.AUTO,
            policies.build(),
            "");
    return new LimitReconciler(instance, server, ticker).run();
  }

  private void role(String name, int limit, int connected, int guarantee) {
    limits.put(name, limit);
    connections.put(name, connected);
    guarantees.put(name, guarantee);
  }

  @Test
  void lowerings_go_first_and_alone_and_are_proven_by_a_look_before_anything_is_raised()
      throws SQLException {
    role("a", 25, 10, 0);
    role("b", 2, 1, 20);

    Outcome outcome = run();

    assertThat(events).containsExactly("look", "set {a=10}", "look", "set {b=20}", "look");
    assertThat(outcome.settled()).isTrue();
  }

  @Test
  void after_a_failed_lowering_nothing_is_raised() {
    role("a", 25, 10, 0);
    role("b", 2, 1, 20);
    failingChange = 1;

    assertThatThrownBy(this::run).isInstanceOf(SQLException.class);

    assertThat(events).containsExactly("look", "set {a=10}");
    assertThat(limits).isEqualTo(Map.of("a", 25, "b", 2));
  }

  @Test
  void a_login_that_came_just_before_the_lowering_is_not_raised_over() throws SQLException {
    role("a", 25, 10, 0);
    role("b", 2, 1, 20);
    beforeLook =
        () -> {
          if (limits.getOrDefault("a", -1) == 10) {
            connections.put("a", 25);
          }
        };

    run();

    assertThat(limits).isEqualTo(Map.of("a", 25, "b", 5));
  }

  @Test
  void connections_that_come_and_go_end_it_unsettled() throws SQLException {
    role("a", 30, 0, 0);
    beforeLook = () -> connections.merge("a", 1, Integer::sum);

    Outcome outcome = run();

    assertThat(outcome.settled()).isFalse();
    assertThat(events.stream().filter("look"::equals)).hasSizeLessThanOrEqualTo(12);
  }

  @Test
  void another_hand_is_noticed_when_it_is_read_back() throws SQLException {
    role("a", 30, 4, 0);
    boolean[] done = {false};
    beforeLook =
        () -> {
          if (limits.getOrDefault("a", -1) == 4 && !done[0]) {
            done[0] = true;
            limits.put("a", 29);
          }
        };

    Outcome outcome = run();

    assertThat(outcome.otherHand()).containsExactly("a");
    assertThat(limits).isEqualTo(Map.of("a", 4));
  }

  @Test
  void the_sum_never_passes_the_budget_and_nothing_goes_below_what_is_in_use(Random random)
      throws SQLException {
    for (int round = 0; round < 2_000; round++) {
      limits.clear();
      connections.clear();
      guarantees.clear();
      events.clear();
      budget = random.nextInt(60);
      for (int role = random.nextInt(6); role >= 0; role--) {
        role("r" + role, random.nextInt(24) - 1, random.nextInt(12), random.nextInt(20));
      }
      Map<String, Integer> before = Map.copyOf(limits);
      int inUse = sum(connections);
      int most = limits.containsValue(-1) ? Integer.MAX_VALUE : sum(limits);
      int allowed = Math.max(budget, inUse);
      int bound = Math.max(most, allowed);
      beforeLook =
          () -> {
            if (!limits.containsValue(-1)) {
              assertThat(sum(limits)).isLessThanOrEqualTo(bound);
            }
          };

      Outcome outcome = run();

      assertThat(outcome.settled()).as("%s", events).isTrue();
      assertThat(sum(limits)).isLessThanOrEqualTo(allowed);
      limits.forEach(
          (role, limit) -> {
            int used = connections.getOrDefault(role, 0);
            int found = before.getOrDefault(role, -1);
            assertThat(limit)
                .as(role)
                .isGreaterThanOrEqualTo(found < 0 ? used : Math.min(used, found));
          });
      events.clear();
      run();
      assertThat(events).as("a second run sends nothing").containsExactly("look");
    }
  }

  private static int sum(Map<String, Integer> numbers) {
    return numbers.values().stream().mapToInt(Integer::intValue).sum();
  }
}
