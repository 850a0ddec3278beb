package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.model.TenantId;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Members that fall silent while PostgreSQL keeps their roles to limits (rule S6). */
class SilentMembersTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";
  private static final Duration SECOND = Duration.ofSeconds(1);

  /** Later than every lease, and sooner than anybody is forgotten. */
  private static final Duration SILENT = Scene.LEASE.plus(SECOND);

  private final Scene scene = Scene.enforcing(8, PolicyBooks.withDefault(), "web", "worker");
  private final Participant silent = scene.member("silent");
  private final Participant other = scene.member("other");

  @BeforeEach
  void has_five_slots_and_holds_two() {
    silent.wants(WEB, 5);
    scene.settle();
    silent.holds(WEB, 2).sync();
    assertThat(scene.limits).containsEntry("web", 5);
  }

  private void falls_silent() {
    silent.dies();
  }

  @Nested
  class Shrinks {

    @Test
    void to_what_postgresql_shows_of_it_one_lease_later() {
      falls_silent();
      other.willWant(WORKER, 8);
      scene.live(Scene.LEASE.minus(SECOND));
      assertThat(other.granted(WORKER)).as("time alone frees nothing").isEqualTo(3);
      scene.live(SECOND.multipliedBy(2));
      assertThat(silent.granted(WEB)).isEqualTo(2);
      assertThat(other.granted(WORKER)).isEqualTo(6);
      assertThat(scene.limits).isEqualTo(Map.of("web", 2, "worker", 6));
    }

    @Test
    void and_shrinks_further_as_its_connections_end() {
      falls_silent();
      other.willWant(WORKER, 8);
      scene.live(SILENT);
      silent.holds(WEB, 1);
      scene.live(SECOND);
      assertThat(other.granted(WORKER)).isEqualTo(7);
    }

    @Test
    void and_is_forgotten_when_nothing_of_it_is_left() {
      falls_silent();
      other.willWant(WORKER, 8);
      silent.losesItsBackends();
      scene.live(SILENT);
      assertThat(other.granted(WORKER)).isEqualTo(8);
      assertThat(scene.coordinator.ledger().members()).hasSize(2);
      scene.live(Scene.CONNECT_TIMEOUT);
      assertThat(scene.coordinator.ledger().members()).hasSize(1);
    }

    @Test
    void and_what_it_did_not_report_counts_as_its_own() {
      falls_silent();
      other.willWant(WORKER, 8);
      scene.pid(TenantId.parse(WEB));
      scene.live(SILENT);
      assertThat(scene.coordinator.strays()).isZero();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(8);
      assertThat(other.granted(WORKER)).isEqualTo(5);
    }

    @Test
    void and_what_it_opens_later_counts_again() {
      falls_silent();
      other.willWant(WORKER, 5);
      scene.live(SILENT);
      assertThat(other.granted(WORKER)).isEqualTo(5);
      scene.pid(TenantId.parse(WEB));
      scene.look();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(8);
    }

    @Test
    void and_what_passes_its_former_grants_is_a_stray() {
      falls_silent();
      for (int i = 0; i < 4; i++) {
        scene.pid(TenantId.parse(WEB));
      }
      scene.live(SILENT);
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(5);
      assertThat(scene.coordinator.strays()).isEqualTo(1);
    }

    @Test
    void but_a_time_in_which_the_coordinator_did_not_listen_is_no_silence() {
      falls_silent();
      scene.coordinator.follow("10.0.0.9:7432", null);
      scene.after(Duration.ofMinutes(1));
      scene.coordinator.lead(Scene.EPOCH + 1, scene.now());
      scene.look().after(SECOND).look();
      assertThat(silent.granted(WEB)).isEqualTo(5);
      scene.live(SILENT);
      assertThat(silent.granted(WEB)).isEqualTo(2);
    }
  }

  @Nested
  class Another_role {

    @Test
    void gets_the_slots_only_after_a_look_has_proven_the_lower_limit() {
      falls_silent();
      other.willWant(WORKER, 8);
      scene.live(Scene.LEASE.minus(SECOND));
      scene.setsLimits = false;
      scene.after(SECOND.multipliedBy(2)).look();
      long before = scene.now();
      assertThat(scene.setLimits()).isEqualTo(Map.of("web", 2));
      scene.lookBegun(before);
      assertThat(scene.setLimits()).as("the look began before the limit was lowered").isEmpty();
      scene.after(SECOND).look();
      assertThat(other.granted(WORKER)).as("within its limit").isEqualTo(3);
      assertThat(scene.setLimits()).isEqualTo(Map.of("worker", 6));
      assertThat(other.granted(WORKER)).isEqualTo(6);
    }

    @Test
    void gets_nothing_while_the_limits_count_more_than_a_budget_that_shrank() {
      other.wants(WORKER, 3);
      scene.settle();
      falls_silent();
      scene.live(SILENT);
      assertThat(scene.limits).isEqualTo(Map.of("web", 2, "worker", 3));
      other.holds(WORKER, 3).sync();
      scene.budget(6);
      scene.live(SECOND);
      scene.limits.putAll(Map.of("web", 5, "worker", 6)); // by another hand
      other.willWant(WORKER, 4).sync();
      scene.setsLimits = false;
      scene.look();
      assertThat(other.granted(WORKER)).isEqualTo(3);
      scene.setsLimits = true;
      scene.live(SECOND);
      assertThat(other.granted(WORKER)).isEqualTo(4);
    }
  }

  @Nested
  class Another_member_of_its_role {

    @Test
    void gets_its_place_at_once() {
      falls_silent();
      other.willWant(WEB, 8);
      scene.live(Scene.LEASE.minus(SECOND));
      scene.setsLimits = false;
      scene.after(SECOND.multipliedBy(2)).look();
      assertThat(scene.limits).containsEntry("web", 8);
      assertThat(other.granted(WEB)).isEqualTo(6);
      assertThat(scene.setLimits()).isEmpty();
    }

    @Test
    void has_its_new_connections_for_itself() {
      falls_silent();
      other.willWant(WEB, 8);
      scene.live(SILENT);
      other.holds(WEB, 6);
      scene.look();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(8);
      assertThat(silent.granted(WEB)).isEqualTo(2);
    }

    @Test
    void gives_way_to_what_only_the_silent_one_can_have_opened() {
      falls_silent();
      other.willWant(WEB, 8);
      scene.live(SILENT);
      for (int i = 0; i < 3; i++) {
        scene.pid(TenantId.parse(WEB));
      }
      scene.live(SECOND.multipliedBy(3));
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(8);
      assertThat(other.granted(WEB)).isEqualTo(3);
    }
  }

  @Nested
  class Coming_back {

    private void comes_back() {
      falls_silent();
      other.willWant(WORKER, 8);
      scene.live(SILENT);
      assertThat(other.granted(WORKER)).isEqualTo(6);
      silent.sync();
    }

    @Test
    void it_counts_at_what_it_goes_by_and_nothing_rises() {
      comes_back();
      other.sync();
      scene.look();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(11);
      assertThat(other.granted(WORKER)).isLessThanOrEqualTo(6);
      assertThat(silent.granted(WEB)).isLessThanOrEqualTo(2);
    }

    @Test
    void it_takes_its_lower_grant_and_keeps_its_connections() {
      comes_back();
      scene.participants.put("silent", silent);
      scene.settle();
      assertThat(silent.pids.get(TenantId.parse(WEB))).hasSize(2);
      scene.live(SECOND.multipliedBy(20));
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(8);
      assertThat(silent.granted(WEB)).isEqualTo(4);
      assertThat(other.granted(WORKER)).isEqualTo(4);
    }
  }

  @Nested
  class Without_a_limit_in_force {

    @Test
    void it_counts_at_its_grants_again() {
      falls_silent();
      other.willWant(WORKER, 4);
      scene.live(SILENT);
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(6);
      scene.limits.put("web", -1);
      scene.setsLimits = false;
      scene.after(SECOND).look();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(9);
      other.wants(WORKER, 6);
      scene.after(SECOND).look();
      assertThat(other.granted(WORKER)).isLessThanOrEqualTo(4);
    }
  }
}
