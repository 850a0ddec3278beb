package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.jdbc.internal.session.FakeCoordinator.Call;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(90)
class CoordinatorSessionTest {

  private static final TenantId WEB = TenantId.of("web", "shop");
  private static final Duration GRACE = Duration.ofSeconds(60);

  private final FakeCoordinator coordinator = new FakeCoordinator();
  private final FakeTenants pools = new FakeTenants();
  private final MemberId member = MemberId.random();
  private CoordinatorSession session = session(GRACE);

  private CoordinatorSession session(Duration grace) {
    return new CoordinatorSession(
        member,
        new SessionSettings("main", "shop-1", Duration.ofSeconds(15), Duration.ofSeconds(5), grace),
        coordinator,
        MemberClock.system(),
        pools);
  }

  private void start(int fallbackSlots) {
    assertThat(session.register(WEB, fallbackSlots, 100, Duration.ofSeconds(10))).isZero();
    session.start();
  }

  @AfterEach
  void leave() {
    session.leave(Duration.ZERO);
    assertThat(threads()).as("threads left behind").isEmpty();
    assertThat(coordinator.isClosed()).isTrue();
  }

  private Set<String> threads() {
    String prefix = "pgsteward-" + member.value().substring(0, 8);
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith(prefix))
        .collect(Collectors.toSet());
  }

  private static TenantReport web(Call call) {
    return call.request().tenants().stream()
        .filter(of -> of.tenant().equals("web@shop"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void costs_no_thread_before_it_is_started() {
    session.register(WEB, 2, 100, Duration.ofSeconds(10));
    assertThat(threads()).isEmpty();
  }

  @Nested
  class Exchange {

    @Test
    void the_first_report_goes_out_at_once_and_names_nothing_applied() throws Exception {
      pools.figures = FakeTenants.figures(3, 0);
      start(2);
      Call first = coordinator.next();
      assertThat(first.request().epoch()).isZero();
      assertThat(first.request().connectTimeoutMillis()).isEqualTo(10_000);
      assertThat(first.readTimeout()).isEqualTo(Duration.ofSeconds(5));
      assertThat(web(first).grant()).as("nothing is opened before the first answer").isZero();
      assertThat(web(first).demand()).isEqualTo(3);
    }

    @Test
    void an_answer_is_applied_before_the_figures_of_the_next_report_are_read() throws Exception {
      start(2);
      coordinator.next().serve(7, 1, Map.of("web@shop", 5));
      Call second = coordinator.next();
      assertThat(second.request().epoch()).isEqualTo(7);
      assertThat(second.request().generation()).isEqualTo(1);
      assertThat(web(second).grant()).isEqualTo(5);
      assertThat(pools.limitAtReport).isEqualTo(5);
      assertThat(session.view().phase()).isEqualTo(MemberPhase.GRANTED);
    }

    @Test
    void each_report_has_a_larger_sequence() throws Exception {
      start(2);
      long first = coordinator.next().serve(7, 1, Map.of()).request().sequence();
      assertThat(coordinator.next().request().sequence()).isGreaterThan(first);
    }

    @Test
    void an_older_answer_is_not_applied_and_counts_as_no_use() throws Exception {
      start(2);
      coordinator.next().serve(7, 3, Map.of("web@shop", 5));
      coordinator.next().serve(7, 2, Map.of("web@shop", 9));
      assertThat(web(coordinator.next()).grant()).isEqualTo(5);
      assertThat(session.view().trouble()).contains("older");
    }

    @Test
    void a_refusal_reaches_the_pool() throws Exception {
      start(2);
      coordinator
          .next()
          .answer(
              new SyncResponse(
                  1,
                  "main",
                  7,
                  1,
                  CoordinatorPhase.SERVING,
                  15_000,
                  5_000,
                  97,
                  0,
                  List.of(new TenantGrant("web@shop", 0, "no entry", 0, null))));
      coordinator.next();
      assertThat(pools.refused).isEqualTo("no entry");
    }

    @Test
    void a_fault_of_ours_in_one_turn_does_not_end_the_session() throws Exception {
      pools.broken = true;
      start(2);
      long by = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (session.view().trouble() == null && System.nanoTime() - by < 0) {
        Thread.onSpinWait();
      }
      assertThat(session.view().trouble()).contains("broken on purpose");
      pools.broken = false;
      coordinator.next().serve(7, 1, Map.of("web@shop", 5));
      pools.awaitLimit(5);
    }
  }

  @Nested
  class News {

    @Test
    void a_rise_of_demand_ends_the_parked_call_and_is_reported() throws Exception {
      start(2);
      coordinator.next().serve(7, 1, Map.of());
      Call parked = coordinator.next();

      pools.figures = FakeTenants.figures(4, 0);
      session.urgent();

      assertThat(web(coordinator.next()).demand()).isEqualTo(4);
      assertThat(parked.isCancelled()).isTrue();
    }

    @Test
    void many_rises_at_once_make_few_calls() throws Exception {
      start(2);
      coordinator.next().serve(7, 1, Map.of());
      coordinator.next();
      CountDownLatch done = new CountDownLatch(8);
      for (int i = 0; i < 8; i++) {
        new Thread(
                () -> {
                  for (int n = 0; n < 1000; n++) {
                    session.urgent();
                  }
                  done.countDown();
                })
            .start();
      }
      done.await();
      coordinator.next();
      assertThat(coordinator.waitingCalls()).as("of 8000 rises").isLessThan(50);
    }

    @Test
    void a_fall_of_demand_is_pushed_without_being_called_out() throws Exception {
      pools.figures = FakeTenants.figures(4, 4);
      start(2);
      coordinator.next().serve(7, 1, Map.of("web@shop", 4));
      Call parked = coordinator.next();
      pools.figures = FakeTenants.figures(1, 4);
      assertThat(web(coordinator.next()).demand()).isEqualTo(1);
      assertThat(parked.isCancelled()).isTrue();
    }

    @Test
    void answers_at_once_without_news_do_not_make_a_hot_loop() throws Exception {
      AtomicInteger calls = new AtomicInteger();
      CountDownLatch enough = new CountDownLatch(12);
      coordinator.script(
          call -> {
            calls.incrementAndGet();
            enough.countDown();
            call.serve(7, 1, Map.of("web@shop", 4));
          });
      long began = System.nanoTime();
      start(2);
      assertThat(enough.await(30, TimeUnit.SECONDS)).isTrue();
      assertThat(System.nanoTime() - began)
          .as("12 calls have several pauses between them")
          .isGreaterThan(TimeUnit.MILLISECONDS.toNanos(100));
    }
  }

  @Nested
  class Without_a_coordinator {

    @Test
    void a_first_failure_leaves_fallback_slots() throws Exception {
      start(2);
      coordinator.next().fail(Kind.UNREACHABLE);
      pools.awaitLimit(2);
      assertThat(session.view().reachable()).isFalse();
      assertThat(session.view().describe()).contains("not usable").contains("UNREACHABLE");
      assertThat(web(coordinator.next()).grant()).as("the report names it").isEqualTo(2);
    }

    @Test
    void a_first_call_without_an_answer_leaves_fallback_slots_after_the_grace() throws Exception {
      session = session(Duration.ofMillis(50));
      start(2);
      Call silent = coordinator.next();
      pools.awaitLimit(2);
      silent.awaitEnd();
      coordinator.next().serve(7, 1, Map.of("web@shop", 1));
      pools.awaitLimit(1);
    }

    @Test
    void the_end_of_the_lease_is_noticed_while_a_call_hangs() throws Exception {
      pools.figures = FakeTenants.figures(1, 1);
      start(3);
      coordinator.next().answer(shortLease(7, 1, 1));
      pools.awaitLimit(1);
      pools.awaitLimit(3);
      assertThat(session.view().phase()).isEqualTo(MemberPhase.FALLBACK);

      Call back = nextNaming(3);
      back.serve(7, 1, Map.of("web@shop", 1));
      pools.awaitLimit(1);
    }

    @Test
    void a_tenant_without_connections_loses_its_grant_at_the_end_of_the_lease() throws Exception {
      start(2);
      coordinator.next().answer(shortLease(7, 1, 9));
      pools.awaitLimit(9);
      coordinator.next();
      pools.awaitLimit(2);
    }

    @Test
    void a_tenant_with_connections_keeps_its_grant_until_it_is_found_empty() throws Exception {
      pools.figures = FakeTenants.figures(4, 4);
      start(2);
      coordinator.next().answer(shortLease(7, 1, 9));
      pools.awaitLimit(9);
      Call after = coordinator.next();
      while (session.view().phase() != MemberPhase.FALLBACK) {
        after.awaitEnd();
        after = coordinator.next();
      }
      assertThat(web(after).grant()).isEqualTo(9);
      assertThat(pools.limit).isEqualTo(9);

      assertThat(session.limitFromEmpty(WEB, 9, 2)).as("opening from nothing").isEqualTo(2);
      pools.awaitLimit(2);
    }

    @Test
    void a_grant_lost_while_limits_are_applied_is_not_reported_or_raised_again() throws Exception {
      pools.figures = FakeTenants.figures(4, 4);
      LinkedBlockingQueue<Integer> lost = new LinkedBlockingQueue<>();
      AtomicInteger callsBefore = new AtomicInteger();
      start(2);
      coordinator.next().answer(shortLease(7, 1, 9));
      pools.awaitLimit(9);
      pools.beforeLimit =
          () -> {
            int left = session.limitFromEmpty(WEB, 9, 2);
            if (left != 9 && lost.isEmpty()) {
              callsBefore.set(coordinator.waitingCalls());
              lost.add(left);
              pools.beforeLimit = () -> {};
            }
          };
      assertThat(lost.poll(30, TimeUnit.SECONDS))
          .as("opens nothing before the turn has its limits")
          .isZero();
      pools.awaitLimit(2);
      for (int i = 0; i < callsBefore.get(); i++) {
        assertThat(web(coordinator.next()).grant()).isEqualTo(9);
      }
      assertThat(web(coordinator.next()).grant()).isEqualTo(2);
    }

    @Test
    void a_grant_is_not_lost_while_the_lease_holds() throws Exception {
      start(2);
      coordinator.next().serve(7, 1, Map.of("web@shop", 9));
      coordinator.next();
      assertThat(session.limitFromEmpty(WEB, 9, 2)).isEqualTo(9);
    }

    @Test
    void failures_within_the_lease_change_no_limit() throws Exception {
      start(2);
      coordinator.next().serve(7, 1, Map.of("web@shop", 9));
      coordinator.next().fail(Kind.UNUSABLE);
      Call next = coordinator.next().fail(Kind.UNREACHABLE);
      assertThat(web(next).grant()).isEqualTo(9);
      assertThat(session.view().phase()).isEqualTo(MemberPhase.GRANTED);
      assertThat(session.view().trouble()).isNotNull();
      coordinator.next().serve(7, 1, Map.of("web@shop", 9));
      coordinator.next();
      assertThat(session.view().trouble()).isNull();
    }

    @Test
    void a_coordinator_on_standby_is_no_coordinator() throws Exception {
      start(2);
      coordinator
          .next()
          .answer(FakeCoordinator.answerOf(7, 1, CoordinatorPhase.STANDBY, 15_000, Map.of()));
      pools.awaitLimit(2);
      assertThat(session.view().trouble()).contains("does not lead");
    }

    /** The next report that names this limit, whichever calls were left hanging before. */
    private Call nextNaming(int limit) throws InterruptedException {
      Call call = coordinator.next();
      while (web(call).grant() != limit) {
        call = coordinator.next();
      }
      return call;
    }

    private SyncResponse shortLease(long epoch, long generation, int grant) {
      return FakeCoordinator.answerOf(
          epoch, generation, CoordinatorPhase.SERVING, 600, Map.of("web@shop", grant));
    }
  }

  @Nested
  class Leaving {

    @Test
    void gives_back_slots_as_they_close_and_says_when_nothing_is_left() throws Exception {
      pools.figures = FakeTenants.figures(3, 3);
      start(2);
      coordinator.next().serve(7, 1, Map.of("web@shop", 3));
      coordinator.next();
      Thread closing = new Thread(() -> session.leave(Duration.ofSeconds(30)));
      closing.start();

      Call first = coordinator.next();
      assertThat(first.request().leaving()).isTrue();
      assertThat(web(first).demand()).isZero();
      assertThat(web(first).grant()).isZero();
      assertThat(web(first).open()).isEqualTo(3);
      first.serve(7, 2, Map.of());

      pools.figures = FakeTenants.figures(0, 0);
      session.urgent();
      Call last = coordinator.next();
      assertThat(last.request().leaving()).isTrue();
      assertThat(last.request().tenants()).as("what is left out is zero").isEmpty();
      last.serve(7, 2, Map.of());

      closing.join();
      assertThat(threads()).isEmpty();
      assertThat(session.view().phase()).isEqualTo(MemberPhase.CLOSED);
    }

    @Test
    void from_a_coordinator_that_hangs_takes_no_longer_than_allowed() throws Exception {
      start(2);
      coordinator.next().serve(7, 1, Map.of("web@shop", 3));
      coordinator.next();
      session.leave(Duration.ofMillis(100));
      assertThat(threads()).isEmpty();
    }

    @Test
    void from_a_coordinator_that_was_never_heard_tells_nobody() throws Exception {
      start(2);
      coordinator.next().fail(Kind.UNREACHABLE);
      pools.awaitLimit(2);
      session.leave(Duration.ofSeconds(30));
      assertThat(threads()).isEmpty();
    }

    @Test
    void before_the_start_ends_at_once() {
      session.leave(Duration.ofSeconds(30));
      session.start();
      assertThat(threads()).as("a session that has left does not start").isEmpty();
    }
  }
}
