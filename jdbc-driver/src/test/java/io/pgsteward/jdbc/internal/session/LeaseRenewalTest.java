package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.internal.session.FakeCoordinator.Call;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.MemberPhase;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A lease that only answers renew, under news that keep giving calls up before they are answered.
 */
@Timeout(90)
class LeaseRenewalTest {

  private final AtomicLong ahead = new AtomicLong();
  private final FakeCoordinator coordinator = new FakeCoordinator();
  private final FakeTenants pools = new FakeTenants();
  private final CoordinatorSession session =
      new CoordinatorSession(
          MemberId.random(),
          new SessionSettings(
              "main",
              "shop-1",
              Duration.ofSeconds(15),
              Duration.ofSeconds(5),
              Duration.ofSeconds(60)),
          coordinator,
          new MemberClock(() -> System.nanoTime() + ahead.get(), () -> 0),
          pools);

  @AfterEach
  void leave() {
    session.leave(Duration.ZERO);
  }

  private void pass(int seconds) {
    ahead.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
  }

  private Call granted() throws InterruptedException {
    session.register(FakeTenants.WEB, 0, 100, Duration.ofSeconds(10));
    session.start();
    coordinator.next().serve(1, 1, Map.of("web@shop", 4));
    return coordinator.next();
  }

  @Test
  void a_call_after_half_of_the_lease_asks_for_an_answer_and_is_not_given_up() throws Exception {
    Call parked = granted();
    assertThat(parked.request().renews()).isFalse();
    pass(8);
    session.urgent();
    Call renewing = coordinator.next();
    assertThat(parked.isCancelled()).isTrue();
    assertThat(renewing.request().renews()).isTrue();

    session.urgent();
    pools.figures = FakeTenants.figures(1, 0);
    pass(5);
    assertThat(coordinator.waitingCalls()).isZero();
    renewing.serve(1, 1, Map.of("web@shop", 4));
    assertThat(coordinator.next().request().renews()).isFalse();
    assertThat(session.view().phase()).isEqualTo(MemberPhase.GRANTED);
  }

  @Test
  void a_silent_coordinator_is_found_out_however_much_news_there_is() throws Exception {
    session.register(FakeTenants.WEB, 0, 100, Duration.ofSeconds(10));
    session.start();
    Call joining = coordinator.next();
    assertFoundOut(joining);
    joining.serve(1, 1, Map.of("web@shop", 4));
    Call parked = coordinator.next();
    pass(16); // the lease ends, and the limits with it
    session.urgent();
    Call alone = coordinator.next();
    assertThat(parked.isCancelled()).isTrue();
    assertThat(alone.request().phase()).isEqualTo(MemberPhase.FALLBACK);
    assertFoundOut(alone);
  }

  /** It waits a third of the lease for its answer, and news do not end it before. */
  private void assertFoundOut(Call call) throws Exception {
    assertThat(call.request().renews()).isTrue();
    assertThat(call.readTimeout()).isEqualTo(Duration.ofSeconds(5));
    for (int i = 0; i < 4; i++) {
      pass(1);
      session.urgent();
      pools.figures = FakeTenants.figures(i, 0);
      TimeUnit.MILLISECONDS.sleep(20); // the watch has its chance
    }
    assertThat(call.isCancelled()).isFalse();
    assertThat(coordinator.waitingCalls()).isZero();
  }

  @Test
  void news_without_end_do_not_end_the_lease() throws Exception {
    Call parked = granted();
    for (int second = 0; second < 60; second++) {
      pass(1);
      session.urgent();
      Call next = parked.isCancelled() ? coordinator.next() : parked;
      if (next.request().renews()) {
        next.serve(1, 1, Map.of("web@shop", 4));
        next = coordinator.next();
      }
      assertThat(next.request().phase()).isEqualTo(MemberPhase.GRANTED);
      parked = next;
    }
    assertThat(pools.limit).isEqualTo(4);
  }
}
