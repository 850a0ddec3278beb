package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantReport;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class ControlLoopTest {

  private static final String WEB = "web@shop";
  private static final MemberId A = new MemberId("member-a");
  private static final MemberId B = new MemberId("member-b");

  private final FakeLeaderSession postgres = new FakeLeaderSession(4);
  private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
  private final BreakingClock clock = new BreakingClock();
  private final ControlLoop loop = loop(false);
  private long sequence;

  /** The system's clock, of which one reading can fail: the loop's thread alone reads it. */
  private static final class BreakingClock implements Ticker {
    private final AtomicInteger readings = new AtomicInteger();
    private volatile int broken;

    @Override
    public long nanos() {
      if (readings.incrementAndGet() == broken) {
        throw new IllegalStateException("broken on purpose");
      }
      return Ticker.system().nanos();
    }
  }

  private ControlLoop loop(boolean learns) {
    return new ControlLoop(
        new CoordinatorSettings(
            new InstanceId("main"),
            Duration.ofSeconds(15),
            Duration.ofSeconds(5),
            Duration.ofSeconds(1),
            0,
            PolicyBooks.withDefault(),
            learns,
            EnforceMode.OFF),
        postgres,
        clock,
        new ControlLoopListener() {
          @Override
          public void observationFailed(Exception cause) {
            told.add("failed");
          }

          @Override
          public void observationRecovered() {
            told.add("recovered");
          }

          @Override
          public void leadershipHeldBy(LeadershipHeldException held) {
            told.add("held by " + held.holder());
          }

          @Override
          public void failed(Exception cause) {
            told.add("loop failed: " + cause);
          }
        });
  }

  @AfterEach
  void no_thread_is_left_and_nothing_went_wrong() {
    loop.close();
    assertThat(postgres.closed).isTrue();
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .noneMatch(name -> name.startsWith("pgsteward-"));
    assertThat(told).noneMatch(event -> event.startsWith("loop failed"));
  }

  private SyncRequest request(long epoch, long generation, int goesBy, int demand) {
    return new SyncRequest(
        1,
        null,
        "app",
        ++sequence,
        epoch,
        generation,
        1_000,
        MemberPhase.GRANTED,
        false,
        false,
        List.of(new TenantReport(WEB, goesBy, demand, 0, 0, 0, 0, 0, List.of())));
  }

  private SyncResponse sync(MemberId member, SyncRequest request) throws Exception {
    return loop.sync(member, request, "127.0.0.1").get(10, TimeUnit.SECONDS);
  }

  /** Joins and waits until the member has this grant. */
  private SyncResponse granted(MemberId member, int demand, int expected) throws Exception {
    SyncResponse answer = sync(member, request(0, 0, 0, demand));
    while (grant(answer) != expected) {
      answer = sync(member, request(answer.epoch(), answer.generation(), grant(answer), demand));
    }
    return answer;
  }

  private static int grant(SyncResponse answer) {
    return answer.tenants().isEmpty() ? 0 : answer.tenants().get(0).grant();
  }

  @Nested
  class While_it_leads {

    @Test
    void grants_what_is_free_by_the_parked_call() throws Exception {
      loop.start();
      assertThat(grant(granted(A, 3, 3))).isEqualTo(3);
    }

    @Test
    void a_parked_call_ends_when_another_member_wants_the_slots() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 4, 4);
      CompletableFuture<SyncResponse> parked =
          loop.sync(A, request(a.epoch(), a.generation(), 4, 4), "127.0.0.1");
      assertThat(parked).isNotDone();
      sync(B, request(0, 0, 0, 4));
      assertThat(grant(parked.get(10, TimeUnit.SECONDS))).isLessThan(4);
    }

    @Test
    void a_newer_call_of_the_same_member_ends_the_parked_one() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 4, 4);
      CompletableFuture<SyncResponse> parked =
          loop.sync(A, request(a.epoch(), a.generation(), 4, 4), "127.0.0.1");
      loop.sync(A, request(a.epoch(), a.generation(), 4, 4), "127.0.0.1");
      assertThat(grant(parked.get(10, TimeUnit.SECONDS))).isEqualTo(4);
    }

    @Test
    void a_newer_call_that_is_answered_at_once_ends_the_parked_one_too() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 4, 4);
      CompletableFuture<SyncResponse> parked =
          loop.sync(A, request(a.epoch(), a.generation(), 4, 4), "127.0.0.1");
      sync(A, request(0, 0, 4, 4));
      assertThat(grant(parked.get(10, TimeUnit.SECONDS))).isEqualTo(4);
    }

    @Test
    void an_older_call_that_was_late_ends_no_newer_one() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 4, 4);
      SyncRequest late = request(a.epoch(), a.generation(), 4, 4);
      CompletableFuture<SyncResponse> parked =
          loop.sync(A, request(a.epoch(), a.generation(), 4, 4), "127.0.0.1");
      assertThat(grant(sync(A, late))).isEqualTo(4);
      assertThat(parked).isNotDone();
    }

    @Test
    void status_shows_budget_tenants_and_members() throws Exception {
      loop.start();
      granted(A, 3, 3);
      InstanceStatus status = loop.status().get(10, TimeUnit.SECONDS);
      assertThat(status.phase()).isEqualTo(CoordinatorPhase.SERVING);
      assertThat(status.budget().total()).isEqualTo(4);
      assertThat(status.granted()).isEqualTo(3);
      assertThat(status.tenants()).singleElement().extracting("tenant").isEqualTo(WEB);
      assertThat(status.members()).singleElement().extracting("name").isEqualTo("app");
    }
  }

  @Nested
  class A_round_that_fails {

    private static final int FIRST_ROUND = 2; // the first reading says how long to wait for events

    @Test
    void fails_those_who_wait_for_it_and_the_loop_goes_on() throws Exception {
      clock.broken = FIRST_ROUND;
      CompletableFuture<SyncResponse> call = loop.sync(A, request(0, 0, 0, 1), "127.0.0.1");
      CompletableFuture<InstanceStatus> status = loop.status();
      loop.start();
      assertThat(told.poll(10, TimeUnit.SECONDS)).contains("loop failed", "broken on purpose");
      assertThatThrownBy(() -> call.get(10, TimeUnit.SECONDS))
          .hasMessageContaining("broken on purpose");
      assertThatThrownBy(() -> status.get(10, TimeUnit.SECONDS))
          .hasMessageContaining("broken on purpose");
    }

    @Test
    void does_not_lose_the_term_that_was_to_begin_in_it() throws Exception {
      clock.broken = FIRST_ROUND;
      loop.start();
      assertThat(told.poll(10, TimeUnit.SECONDS)).contains("loop failed");
      SyncResponse answer = granted(A, 2, 2);
      assertThat(answer.epoch()).isEqualTo(11);
    }
  }

  @Nested
  class A_server_that_was_replaced_by_a_backup {

    @Test
    void gives_a_term_that_members_accept_and_grants_go_on() throws Exception {
      loop.start();
      SyncResponse before = granted(A, 1, 1);
      postgres.away = new SQLException("gone", "57P01");
      assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo("failed");
      postgres.epoch = 3;
      postgres.away = null;
      assertThat(told.poll(20, TimeUnit.SECONDS)).isEqualTo("recovered");
      SyncResponse after = granted(B, 2, 2);
      assertThat(after.epoch()).isEqualTo(before.epoch() + 1);
    }

    @Test
    void is_noticed_by_what_members_name_after_a_restart() throws Exception {
      loop.start();
      SyncResponse answer = sync(A, request(5_000, 7, 1, 2));
      while (answer.epoch() < 5_000) {
        answer = sync(A, request(5_000, 7, 1, 2));
      }
      assertThat(answer.epoch()).isEqualTo(5_001);
      assertThat(grant(answer)).isGreaterThanOrEqualTo(1);
    }
  }

  @Nested
  class When_it_closes {

    @Test
    void parked_calls_are_answered_and_new_ones_refused() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 2, 2);
      CompletableFuture<SyncResponse> parked =
          loop.sync(A, request(a.epoch(), a.generation(), 2, 2), "127.0.0.1");
      loop.close();
      assertThat(grant(parked.get(10, TimeUnit.SECONDS))).isEqualTo(2);
      assertThatThrownBy(() -> sync(A, request(0, 0, 0, 1)))
          .isInstanceOf(ExecutionException.class)
          .cause()
          .isInstanceOfSatisfying(
              SyncRefusedException.class,
              e -> assertThat(e.reason()).isEqualTo(SyncRefusal.CLOSING));
    }
  }

  @Nested
  class Another_leader {

    @Test
    void at_the_start_is_told_and_nothing_starts() {
      postgres.holder = "10.0.0.9:7432";
      assertThatThrownBy(loop::start)
          .isInstanceOfSatisfying(
              LeadershipHeldException.class,
              e -> assertThat(e.holder()).isEqualTo("10.0.0.9:7432"));
      assertThat(loop.leads()).isFalse();
    }

    @Test
    void that_took_over_while_postgresql_was_away_is_told_to_members() throws Exception {
      loop.start();
      granted(A, 1, 1);
      postgres.away = new SQLException("gone", "08006");
      assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo("failed");
      postgres.holder = "10.0.0.9:7432";
      postgres.away = null;
      assertThat(told.poll(20, TimeUnit.SECONDS)).isEqualTo("recovered");
      assertThat(told.poll(20, TimeUnit.SECONDS)).isEqualTo("held by 10.0.0.9:7432");
      assertSentAway(loop.sync(A, request(0, 0, 0, 1), "127.0.0.1"));
    }

    @Test
    void that_took_over_ends_parked_calls_and_members_show_only_there() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 4, 4);
      CompletableFuture<SyncResponse> parked =
          loop.sync(A, request(a.epoch(), a.generation(), 4, 4), "127.0.0.1");
      postgres.holder = "10.0.0.9:7432";
      postgres.away = new SQLException("gone", "57P05");
      assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo("failed");
      assertThat(parked).as("nobody else leads as far as it knows").isNotDone();
      postgres.away = null;
      assertSentAway(parked);
      InstanceStatus status = loop.status().get(10, TimeUnit.SECONDS);
      assertThat(status.phase()).isEqualTo(CoordinatorPhase.STANDBY);
      assertThat(status.leader()).isEqualTo("10.0.0.9:7432");
      assertThat(status.observationError()).isNull();
      assertThat(status.epoch()).isZero();
      assertThat(status.granted()).isZero();
      assertThat(status.members()).isEmpty();
      assertThat(status.tenants()).isEmpty();
    }

    private void assertSentAway(CompletableFuture<SyncResponse> call) {
      assertThatThrownBy(() -> call.get(20, TimeUnit.SECONDS))
          .cause()
          .isInstanceOfSatisfying(
              SyncRefusedException.class,
              e -> {
                assertThat(e.reason()).isEqualTo(SyncRefusal.NOT_LEADING);
                assertThat(e.leader()).isEqualTo("10.0.0.9:7432");
              });
    }

    @Test
    void is_stood_by_for_and_replaced_when_the_lead_is_free() throws Exception {
      postgres.holder = "10.0.0.9:7432";
      loop.startOrStandBy();
      assertThat(loop.leads()).isFalse();
      assertSentAway(loop.sync(A, request(0, 0, 0, 1), "127.0.0.1"));
      postgres.holder = null;
      SyncResponse answer = null;
      while (answer == null) {
        try {
          answer = granted(A, 3, 3);
        } catch (ExecutionException notYet) {
          assertThat(notYet).hasCauseInstanceOf(SyncRefusedException.class);
        }
      }
      assertThat(answer.epoch()).isEqualTo(11);
      assertThat(loop.leads()).isTrue();
      assertThat(told).allMatch("held by 10.0.0.9:7432"::equals);
    }

    @Test
    void with_another_configuration_is_not_stood_by_for() {
      postgres.holder = "10.0.0.9:7432";
      postgres.otherConfiguration = true;
      assertThatThrownBy(loop::startOrStandBy).isInstanceOf(LeadershipHeldException.class);
      assertThat(loop.leads()).isFalse();
    }
  }

  @Nested
  class An_answer_of_PostgreSQL_that_is_taken_in_late {

    /** As after SIGSTOP and SIGCONT: PostgreSQL has ended the session, and another may lead. */
    @Test
    void proves_nothing_and_so_raises_nothing() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 2, 2);
      postgres.answersAfterNanos = TimeUnit.SECONDS.toNanos(10);
      CompletableFuture<SyncResponse> more =
          loop.sync(A, request(a.epoch(), a.generation(), 2, 4), "127.0.0.1");
      assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo("failed");
      InstanceStatus status = loop.status().get(10, TimeUnit.SECONDS);
      assertThat(status.granted()).isEqualTo(2);
      assertThat(status.observationError()).contains("more than two thirds of the lease");
      assertThat(more).isNotDone();
      postgres.answersAfterNanos = 0;
      assertThat(grant(more.get(20, TimeUnit.SECONDS))).isEqualTo(4);
      assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo("recovered");
    }
  }

  @Nested
  class PostgreSQL_away {

    @Test
    void at_the_start_is_waited_for() throws Exception {
      postgres.away = new SQLException("connection refused", "08001");
      loop.start();
      assertThatThrownBy(() -> sync(A, request(0, 0, 0, 1)))
          .cause()
          .hasMessageContaining("PostgreSQL has not been reached");
      postgres.away = null;
      assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo("failed");
      assertThat(told.poll(20, TimeUnit.SECONDS)).isEqualTo("recovered");
      assertThat(grant(granted(A, 1, 1))).isEqualTo(1);
    }

    @Test
    void with_a_wrong_password_is_an_error_at_once() {
      postgres.away = new SQLException("password authentication failed", "28P01");
      assertThatThrownBy(loop::start).hasMessageContaining("password");
    }

    @Test
    void later_keeps_grants_and_raises_nothing() throws Exception {
      loop.start();
      SyncResponse a = granted(A, 2, 2);
      postgres.away = new SQLException("gone", "57P01");
      assertThat(told.poll(10, TimeUnit.SECONDS)).isEqualTo("failed");
      CompletableFuture<SyncResponse> more =
          loop.sync(A, request(a.epoch(), a.generation(), 2, 4), "127.0.0.1");
      InstanceStatus status = loop.status().get(10, TimeUnit.SECONDS);
      assertThat(more).isNotDone();
      assertThat(status.granted()).isEqualTo(2);
      assertThat(status.observationError()).isEqualTo("gone");
    }
  }
}
