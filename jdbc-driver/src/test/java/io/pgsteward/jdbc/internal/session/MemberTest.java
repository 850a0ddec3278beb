package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.jdbc.internal.pool.BorrowFailure;
import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.PoolUsage;
import io.pgsteward.jdbc.internal.pool.TenantPoolSettings;
import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.jdbc.internal.session.FakeCoordinator.Call;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Real pools on connections to nowhere, and a coordinator played by the test. */
@Timeout(90)
class MemberTest {

  private static final TenantId WEB = TenantId.of("web", "shop");
  private static final TenantId WORKER = TenantId.of("worker", "shop");
  private static final long LONG = TimeUnit.SECONDS.toNanos(30);
  private static final MemberSettings SETTINGS =
      MemberSettings.http("http://127.0.0.1:1", "main", "s3cret", "shop-1");

  private final FakeCoordinator coordinator = new FakeCoordinator();
  private final CountingDriver driver = new CountingDriver();
  private final MemberRegistry registry = new MemberRegistry(this::member);
  private Duration keepIdle = Duration.ofMinutes(1);
  private Member member = registry.join(SETTINGS);

  private Member member(MemberSettings settings) {
    return new Member(
        settings,
        SessionSettings.of("main", "shop-1"),
        id -> coordinator,
        MemberClock.system(),
        keepIdle);
  }

  @AfterEach
  void release() {
    while (registry.size() > 0) {
      registry.release(member);
    }
    assertThat(threads()).as("threads left behind").isEmpty();
    assertThat(driver.open).hasValue(0);
  }

  private Set<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("pgsteward-" + member.id().value().substring(0, 8)))
        .collect(Collectors.toSet());
  }

  private TenantPoolSettings.Builder pool(TenantId tenant) {
    return TenantPoolSettings.builder(tenant.toString(), "jdbc:nowhere:", new Properties())
        .driver(driver);
  }

  private TenantAccess access(TenantId tenant, int fallbackSlots) throws SQLException {
    return access(new TenantSettings(tenant, pool(tenant).build(), fallbackSlots));
  }

  private TenantAccess access(TenantSettings settings) throws SQLException {
    return member.access(settings, MemberTest::explain, PoolEvents.NONE);
  }

  private static SQLException explain(BorrowFailure failure) {
    return new SQLException(failure.toString());
  }

  /** Grants what each tenant has demand for, up to a number, with a new generation per change. */
  private void grantUpTo(Map<String, Integer> most) {
    AtomicInteger generation = new AtomicInteger(1);
    Map<String, Integer> granted = new ConcurrentHashMap<>();
    coordinator.script(
        call -> {
          Map<String, Integer> wanted = new HashMap<>();
          for (TenantReport of : call.request().tenants()) {
            wanted.put(of.tenant(), Math.min(of.demand(), most.getOrDefault(of.tenant(), 0)));
          }
          boolean changed = !wanted.equals(granted);
          if (changed) {
            granted.clear();
            granted.putAll(wanted);
            generation.incrementAndGet();
          }
          boolean knows = call.request().generation() == generation.get();
          if (changed || !knows || call.request().leaving()) {
            call.serve(7, generation.get(), Map.copyOf(granted));
          } // otherwise it is parked until the member has news
        });
  }

  private static void await(String what, BooleanSupplier condition) {
    long by = System.nanoTime() + LONG;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - by).as(what).isNegative();
      Thread.onSpinWait();
    }
  }

  private CompletableFuture<Connection> borrow(TenantAccess access) {
    CompletableFuture<Connection> connection = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                connection.complete(access.getConnection(LONG));
              } catch (SQLException e) {
                connection.completeExceptionally(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return connection;
  }

  @Nested
  class Registry {

    @Test
    void data_sources_with_equal_settings_share_a_member_and_the_last_one_closes_it()
        throws Exception {
      MemberSettings equal = MemberSettings.http("http://127.0.0.1:1", "main", "s3cret", "other");
      assertThat(registry.join(equal)).isSameAs(member);
      registry.release(member);
      assertThat(registry.size()).isEqualTo(1);
      access(WEB, 2);
      registry.release(member);
      assertThat(registry.size()).isZero();
      assertThatThrownBy(() -> access(WEB, 2)).isInstanceOf(SQLException.class);
    }

    @Test
    void another_token_or_instance_or_coordinator_is_another_member() {
      MemberRegistry members = new MemberRegistry(MemberTest.this::member);
      Set<Member> distinct =
          Set.of(
              members.join(MemberSettings.http("http://a:1", "main", "t", "")),
              members.join(MemberSettings.http("http://a:1", "main", "u", "")),
              members.join(MemberSettings.http("http://a:1", "other", "t", "")),
              members.join(MemberSettings.http("http://b:1", "main", "t", "")));
      assertThat(distinct).hasSize(4);
      distinct.forEach(members::release);
      assertThat(members.size()).isZero();
    }

    @Test
    void settings_show_no_token() {
      assertThat(SETTINGS.toString() + SETTINGS.key()).doesNotContain("s3cret");
    }
  }

  @Nested
  class Demand {

    @Test
    void a_member_that_is_not_asked_for_a_connection_has_no_thread_and_no_pool() throws Exception {
      TenantAccess access = access(WEB, 2);
      assertThat(access.usage()).isNull();
      assertThat(threads()).isEmpty();
      assertThat(coordinator.waitingCalls()).isZero();
    }

    @Test
    void the_first_borrower_gets_a_connection_from_the_first_grants() throws Exception {
      grantUpTo(Map.of("web@shop", 3));
      TenantAccess access = access(WEB, 2);
      try (Connection connection = access.getConnection(LONG)) {
        assertThat(connection.isValid(1)).isTrue();
      }
      assertThat(member.coordinatorState().describe())
          .contains("reachable (SERVING, epoch 7)")
          .contains("budget=97");
      CoordinatorView.Tenant grant = Objects.requireNonNull(access.grant());
      assertThat(grant.fallbackSlots()).isEqualTo(2);
    }

    @Test
    void never_more_connections_than_granted_are_open() throws Exception {
      grantUpTo(Map.of("web@shop", 2));
      TenantAccess access = access(WEB, 9);
      Connection first = borrow(access).get(30, TimeUnit.SECONDS);
      Connection second = borrow(access).get(30, TimeUnit.SECONDS);
      CompletableFuture<Connection> third = borrow(access);
      await("the third waits", () -> waiting(access) == 1);
      first.close();
      third.get(30, TimeUnit.SECONDS).close();
      second.close();
      assertThat(driver.mostOpen).hasValue(2);
    }

    @Test
    void two_data_sources_of_a_tenant_share_its_pool_until_the_last_one_closes() throws Exception {
      grantUpTo(Map.of("web@shop", 3));
      TenantAccess one = access(WEB, 2);
      TenantAccess two = access(WEB, 2);
      one.getConnection(LONG).close();
      assertThat(two.usage()).isNotNull();

      one.close();
      one.close();
      two.getConnection(LONG).close();
      two.close();

      assertThat(driver.open).hasValue(0);
      assertThatThrownBy(() -> two.getConnection(LONG)).hasMessageContaining("closed");
    }

    @Test
    void a_tenant_wanted_with_other_settings_is_refused_with_their_names_and_no_values()
        throws Exception {
      access(WEB, 2);
      Properties other = new Properties();
      other.setProperty("password", "0ther-s3cret");
      TenantPoolSettings different =
          TenantPoolSettings.builder("web@shop", "jdbc:nowhere:", other)
              .driver(driver)
              .maxWaiters(5)
              .build();
      assertThatThrownBy(() -> access(new TenantSettings(WEB, different, 2)))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("password, maxWaiters")
          .hasMessageContaining("tenant=LABEL")
          .hasMessageNotContaining("s3cret");
    }

    private static int waiting(TenantAccess access) {
      PoolUsage usage = access.usage();
      return usage == null ? 0 : usage.waiting();
    }
  }

  @Nested
  class Without_a_coordinator {

    @Test
    void a_first_failure_lets_borrowers_have_fallback_slots() throws Exception {
      coordinator.script(call -> call.fail(Kind.UNREACHABLE));
      TenantAccess access = access(WEB, 2);
      Connection one = access.getConnection(LONG);
      Connection two = access.getConnection(LONG);
      assertThatThrownBy(() -> access.getConnection(TimeUnit.MILLISECONDS.toNanos(50)))
          .hasMessageContaining("TimedOut");
      one.close();
      two.close();
      assertThat(driver.mostOpen).hasValue(2);
    }

    @ParameterizedTest
    @EnumSource(names = {"LEARNING", "SERVING"})
    void a_refused_tenant_fails_at_once_in_the_coordinators_words(CoordinatorPhase phase)
        throws Exception {
      coordinator.script(
          call ->
              call.answer(
                  new SyncResponse(
                      1,
                      "main",
                      7,
                      1,
                      phase,
                      15_000,
                      5_000,
                      97,
                      0,
                      List.of(new TenantGrant("web@shop", 0, "no entry for it", 0, null)))));
      TenantAccess access = access(WEB, 2);
      assertThatThrownBy(() -> access.getConnection(LONG)).hasMessageContaining("no entry for it");
      coordinator.script(
          call -> {
            if (call.request().leaving()) {
              call.serve(7, 2, Map.of());
            }
          });
    }
  }

  @Nested
  class Idleness {

    @Test
    void an_idle_pool_without_a_grant_is_dropped_and_made_again_unseen() throws Exception {
      registry.release(member);
      keepIdle = Duration.ZERO;
      member = registry.join(SETTINGS);
      grantUpTo(Map.of("web@shop", 3));
      TenantAccess access = access(WEB, 2);
      access.getConnection(LONG).close();

      await("dropped", () -> access.usage() == null);
      assertThat(access.grant()).isNull();

      access.getConnection(LONG).close();
    }

    @Test
    void a_tenant_that_is_wanted_in_the_moment_of_its_dropping_stays_in_the_book()
        throws Exception {
      registry.release(member);
      keepIdle = Duration.ZERO;
      member = registry.join(SETTINGS);
      List<TenantId> ids =
          IntStream.range(0, 6).mapToObj(i -> TenantId.of("r" + i, "shop")).toList();
      grantUpTo(ids.stream().collect(Collectors.toMap(TenantId::toString, id -> 1)));
      List<TenantAccess> idle = new ArrayList<>();
      for (TenantId id : ids) {
        TenantAccess access = access(id, 2);
        access.getConnection(LONG).close();
        idle.add(access);
      }
      while (!idle.isEmpty()) {
        for (TenantAccess access : List.copyOf(idle)) {
          if (access.usage() == null) {
            idle.remove(access);
            access
                .getConnection(LONG / 3)
                .close(); // its next pool is made while the last is closed
          }
        }
      }
    }
  }

  /** Its first borrower need not wait for the connection. */
  private static void makePool(TenantAccess access) {
    try {
      access.getConnection(1).close();
    } catch (SQLException e) {
      assertThat(e.getMessage()).contains("TimedOut");
    }
  }

  @Nested
  class Closing {

    @Test
    void a_tenant_whose_next_pool_lives_stays_in_the_book() throws Exception {
      grantUpTo(Map.of("web@shop", 2));
      TenantAccess last = access(WEB, 2);
      for (int round = 0; round < 10; round++) {
        last.getConnection(LONG).close();
        TenantAccess leaving = last;
        Thread leaves = new Thread(leaving::close);
        leaves.start();
        while (leaving.usage() != null) {
          Thread.onSpinWait();
        }
        TenantAccess next = access(WEB, 2);
        makePool(next);
        leaves.join();
        assertThat(next.grant())
            .as("round %s", round)
            .extracting(CoordinatorView.Tenant::fallbackSlots)
            .isEqualTo(2);
        last = next;
      }
    }

    @Test
    void the_member_leaves_when_the_last_data_source_does() throws Exception {
      grantUpTo(Map.of("web@shop", 3));
      access(WEB, 2).getConnection(LONG).close();
      registry.release(member);

      Call last = coordinator.next();
      while (coordinator.waitingCalls() > 0) {
        last = coordinator.next();
      }
      assertThat(last.request().leaving()).isTrue();
      assertThat(last.request().tenants()).allMatch(of -> of.held() == 0 && of.demand() == 0);
      assertThat(coordinator.isClosed()).isTrue();
    }

    @Test
    void waiting_threads_fail_with_closed() throws Exception {
      grantUpTo(Map.of());
      TenantAccess access = access(WEB, 2);
      CompletableFuture<Connection> waits = borrow(access);
      await("waits", () -> Demand.waiting(access) == 1);
      access.close();
      assertThat(waits)
          .failsWithin(Duration.ofSeconds(30))
          .withThrowableThat()
          .withMessageContaining("Closed");
    }

    @Test
    void a_loan_that_is_out_counts_for_the_tenant_when_it_comes_back() throws Exception {
      grantUpTo(Map.of("web@shop", 2));
      TenantAccess before = access(WEB, 2);
      Connection loan = before.getConnection(LONG);
      before.close();

      TenantAccess after = access(WEB, 2);
      Connection one = borrow(after).get(30, TimeUnit.SECONDS);
      CompletableFuture<Connection> two = borrow(after);
      await("waits beside the loan", () -> Demand.waiting(after) == 1);
      assertThat(driver.mostOpen).as("one on loan and one").hasValue(2);

      loan.close();
      two.get(30, TimeUnit.SECONDS).close();
      one.close();
      assertThat(driver.mostOpen).hasValue(2);
    }

    @Test
    void with_a_loan_out_closing_takes_a_bounded_time_and_the_loan_goes_on() throws Exception {
      grantUpTo(Map.of("web@shop", 3));
      Connection loan = access(WEB, 2).getConnection(LONG);
      registry.release(member);
      assertThat(loan.isClosed()).isFalse();
      loan.close();
      await("closed on return", () -> driver.open.get() == 0);
    }
  }

  @Nested
  class Several_tenants {

    @Test
    void each_has_its_own_pool_and_one_report_holds_them_all() throws Exception {
      grantUpTo(Map.of("web@shop", 1, "worker@shop", 1));
      access(WEB, 2).getConnection(LONG).close();
      access(WORKER, 2).getConnection(LONG).close();
      Call call = coordinator.next();
      while (call.request().tenants().size() < 2) {
        call = coordinator.next();
      }
      assertThat(call.request().tenants())
          .extracting(TenantReport::tenant)
          .containsExactlyInAnyOrder("web@shop", "worker@shop");
    }
  }
}
