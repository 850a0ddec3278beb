package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.close;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.failureOf;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.pgsteward.jdbc.internal.pool.StubDriver.StubConnection;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(60)
@ExtendWith(NoThreadsLeft.class)
class TenantPoolTest {

  @RegisterExtension final PoolFixture fixture = new PoolFixture();

  private static void waitUntilWaiting(TenantPool pool, int count) throws InterruptedException {
    Await.until(count + " threads wait", () -> pool.usage().waiting() == count);
  }

  @Nested
  class Borrowing {

    @Test
    void a_connection_that_came_back_is_used_again() throws Exception {
      TenantPool pool = fixture.pool(5);
      for (int i = 0; i < 100; i++) {
        borrow(pool).close();
      }
      assertThat(fixture.driver.made).hasSize(1);
      assertThat(pool.usage().counters().borrowed()).isEqualTo(100);
    }

    @Test
    void connections_are_opened_up_to_the_limit_and_no_further() throws Exception {
      TenantPool pool = fixture.pool(3);
      List<Connection> held = borrow(pool, 3);
      assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(50))))
          .isInstanceOf(BorrowFailure.TimedOut.class);
      assertThat(fixture.driver.mostAlive).hasValue(3);
      close(held);
    }

    @Test
    void threads_are_served_in_the_order_in_which_they_came() throws Exception {
      TenantPool pool = fixture.pool(1);
      Connection held = borrow(pool);
      List<Integer> served = new ArrayList<>();
      List<FutureTask<Boolean>> threads = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        int me = i;
        threads.add(
            fixture.start(
                () -> {
                  try (Connection mine = borrow(pool)) {
                    return served.add(me);
                  }
                }));
        waitUntilWaiting(pool, i + 1);
      }
      held.close();
      for (FutureTask<Boolean> thread : threads) {
        get(thread);
      }
      assertThat(served).containsExactly(0, 1, 2, 3, 4);
    }

    @Test
    void a_thread_gets_its_last_connection_again_when_that_is_idle() throws Exception {
      TenantPool pool = fixture.pool(5);
      List<Connection> all = borrow(pool, 5);
      Connection mine = all.remove(2).unwrap(StubConnection.class);
      close(all);
      pool.limit(5);
      // The third is still lent; give it back last, so that it is this thread's last one.
      assertThat(pool.usage().inUse()).isEqualTo(1);
      assertThat(mine.isClosed()).isFalse();
      Connection again = borrow(pool);
      Connection raw = again.unwrap(StubConnection.class);
      again.close();
      for (int i = 0; i < 10; i++) {
        try (Connection next = borrow(pool)) {
          assertThat(next.unwrap(StubConnection.class)).isSameAs(raw);
        }
      }
    }

    @Test
    void a_zero_timeout_takes_what_is_free_and_waits_for_nothing() throws Exception {
      TenantPool pool = fixture.pool(1);
      borrow(pool).close();
      try (Connection free = pool.getConnection(0)) {
        assertThat(failureOf(() -> pool.getConnection(0)))
            .isInstanceOf(BorrowFailure.TimedOut.class);
        assertThat(free.isClosed()).isFalse();
      }
    }

    @Test
    void a_timeout_tells_the_pool_as_it_was_and_who_holds_what() throws Exception {
      TenantPool pool = fixture.pool(2);
      List<Connection> held = borrow(pool, 2);
      BorrowFailure failure =
          failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(30)));
      assertThat(failure)
          .isInstanceOfSatisfying(
              BorrowFailure.TimedOut.class,
              timedOut -> {
                assertThat(timedOut.waitedNanos()).isGreaterThan(29_000_000L);
                assertThat(timedOut.usage().limit()).isEqualTo(2);
                assertThat(timedOut.usage().inUse()).isEqualTo(2);
                assertThat(timedOut.usage().waiting()).isZero();
                assertThat(timedOut.callerHoldsConnection()).isTrue();
                assertThat((Throwable) timedOut.lastOpenFailure()).isNull();
              });
      assertThat(pool.usage().counters().selfWaits()).isEqualTo(1);
      assertThat(pool.usage().counters().timedOut()).isEqualTo(1);
      FutureTask<BorrowFailure> other =
          fixture.start(
              () -> failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(30))));
      assertThat(get(other))
          .isInstanceOfSatisfying(
              BorrowFailure.TimedOut.class,
              timedOut -> assertThat(timedOut.callerHoldsConnection()).isFalse());
      close(held);
    }

    @Test
    void a_thread_that_gave_its_connection_back_does_not_count_as_holding_one() throws Exception {
      TenantPool pool = fixture.pool(1);
      Connection held = borrow(pool);
      FutureTask<Connection> next = fixture.start(() -> borrow(pool));
      waitUntilWaiting(pool, 1);
      held.close();
      Connection others = get(next);
      assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(20))))
          .isInstanceOfSatisfying(
              BorrowFailure.TimedOut.class,
              timedOut -> assertThat(timedOut.callerHoldsConnection()).isFalse());
      assertThat(pool.usage().counters().selfWaits()).isZero();
      others.close();
    }

    @Test
    void an_interrupted_thread_fails_and_keeps_its_flag() throws Exception {
      TenantPool pool = fixture.pool(1);
      Connection held = borrow(pool);
      CountDownLatch started = new CountDownLatch(1);
      Thread[] waiting = new Thread[1];
      FutureTask<Boolean> flag =
          fixture.start(
              () -> {
                waiting[0] = Thread.currentThread();
                started.countDown();
                assertThat(failureOf(() -> borrow(pool)))
                    .isInstanceOf(BorrowFailure.Interrupted.class);
                return Thread.interrupted();
              });
      started.await();
      waitUntilWaiting(pool, 1);
      waiting[0].interrupt();
      assertThat(get(flag)).isTrue();
      assertThat(pool.usage().waiting()).isZero();
      held.close();
      borrow(pool).close();
    }

    @Test
    void more_waiting_threads_than_allowed_are_refused_at_once() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(1).maxWaiters(2));
      Connection held = borrow(pool);
      List<FutureTask<Void>> waiting = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        waiting.add(
            fixture.start(
                () -> {
                  borrow(pool).close();
                  return null;
                }));
        waitUntilWaiting(pool, i + 1);
      }
      assertThat(failureOf(() -> borrow(pool))).isInstanceOf(BorrowFailure.TooManyWaiters.class);
      held.close();
      for (FutureTask<Void> thread : waiting) {
        get(thread);
      }
    }

    @Test
    void autocommit_and_read_only_are_as_set_and_reset_after_each_use() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(1).autoCommit(false).readOnly(true));
      for (int i = 0; i < 2; i++) {
        try (Connection connection = borrow(pool)) {
          assertThat(connection.getAutoCommit()).isFalse();
          assertThat(connection.isReadOnly()).isTrue();
          connection.setAutoCommit(true);
          connection.setReadOnly(false);
        }
      }
    }

    @Test
    void a_wrapped_hikari_data_source_is_nowhere_to_be_had() throws Exception {
      TenantPool pool = fixture.pool(1);
      try (Connection connection = borrow(pool)) {
        assertThat(connection.isWrapperFor(StubConnection.class)).isTrue();
        assertThatThrownBy(() -> connection.unwrap(HikariDataSource.class))
            .isInstanceOf(SQLException.class);
      }
    }
  }

  @Nested
  class Limits {

    @Test
    void a_raise_serves_a_waiting_thread() throws Exception {
      TenantPool pool = fixture.pool(0);
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      waitUntilWaiting(pool, 1);
      assertThat(fixture.events.demandRose).hasValue(1);
      pool.limit(1);
      get(waiting).close();
    }

    @Test
    void a_lowering_closes_idle_connections_at_once() throws Exception {
      TenantPool pool = fixture.pool(20);
      close(borrow(pool, 20));
      pool.limit(5);
      Await.until("15 are closed", () -> fixture.driver.alive.get() == 5);
      Await.until("15 are free", () -> pool.usage().held() == 5);
      assertThat(fixture.events.slotReleased).hasValue(15);
    }

    @Test
    void a_lowering_closes_connections_in_use_as_they_come_back() throws Exception {
      TenantPool pool = fixture.pool(20);
      List<Connection> held = borrow(pool, 20);
      pool.limit(5);
      assertThat(fixture.driver.alive).hasValue(20);
      for (int returned = 1; returned <= 20; returned++) {
        held.remove(0).close();
        int left = Math.max(5, 20 - returned);
        Await.until(left + " are left", () -> fixture.driver.alive.get() == left);
      }
      Await.until("the pool holds 5", () -> pool.usage().held() == 5);
    }

    @Test
    void a_limit_of_zero_and_back_in_the_middle_is_right() throws Exception {
      TenantPool pool = fixture.pool(4);
      List<Connection> held = borrow(pool, 4);
      close(held.subList(0, 2));
      pool.limit(0);
      pool.limit(3);
      pool.limit(0);
      held.get(2).close();
      pool.limit(4);
      Await.until("closes are over", () -> pool.usage().closing() == 0);
      List<Connection> more = borrow(pool, 3);
      assertThat(fixture.driver.mostAlive).hasValue(4);
      held.get(3).close();
      close(more);
    }

    @Test
    void nothing_opens_beside_a_connection_that_is_still_closing() throws Exception {
      TenantPool pool = fixture.pool(1);
      Connection held = borrow(pool);
      CountDownLatch closing = new CountDownLatch(1);
      fixture.driver.last().onClose =
          () -> {
            try {
              closing.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          };
      pool.limit(0);
      held.close();
      Await.until("the close has begun", () -> pool.usage().closing() == 1);
      pool.limit(1);
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      waitUntilWaiting(pool, 1);
      assertThat(pool.usage().opening()).isZero();
      closing.countDown();
      get(waiting).close();
      assertThat(fixture.driver.mostAlive).hasValue(1);
    }

    @Test
    void the_cap_outranks_the_grant_and_bounds_demand() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(0).cap(2));
      pool.limit(10);
      List<Connection> held = borrow(pool, 2);
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      waitUntilWaiting(pool, 1);
      assertThat(pool.usage().limit()).isEqualTo(2);
      assertThat(pool.usage().demand()).isEqualTo(2);
      close(held);
      get(waiting).close();
    }

    @Test
    void a_refused_tenant_fails_those_who_wait_and_those_who_come() throws Exception {
      TenantPool pool = fixture.pool(0);
      FutureTask<BorrowFailure> waiting = fixture.start(() -> failureOf(() -> borrow(pool)));
      waitUntilWaiting(pool, 1);
      pool.refuse("no policy names it");
      assertThat(get(waiting)).isEqualTo(new BorrowFailure.Refused("no policy names it"));
      assertThat(failureOf(() -> borrow(pool)))
          .isEqualTo(new BorrowFailure.Refused("no policy names it"));
      pool.refuse(null);
      pool.limit(1);
      borrow(pool).close();
    }
  }

  @Nested
  class Opening {

    @Test
    void openings_run_in_parallel() throws Exception {
      CountDownLatch all = new CountDownLatch(8);
      fixture.driver.onConnect =
          attempt -> {
            all.countDown();
            try {
              assertThat(all.await(10, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
              throw new SQLException(e);
            }
          };
      TenantPool pool = fixture.pool(8);
      List<FutureTask<Connection>> threads = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        threads.add(fixture.start(() -> borrow(pool)));
      }
      for (FutureTask<Connection> thread : threads) {
        get(thread).close();
      }
    }

    @Test
    void a_thread_takes_a_returned_connection_while_its_own_is_still_opening() throws Exception {
      CountDownLatch hung = new CountDownLatch(1);
      TenantPool pool = fixture.pool(2);
      Connection held = borrow(pool);
      fixture.driver.onConnect = attempt -> await(hung);
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      Await.until("one is opening", () -> pool.usage().opening() == 1);
      held.close();
      get(waiting).close();
      assertThat(pool.usage().opening()).isEqualTo(1);
      hung.countDown();
      Await.until("it is open", () -> pool.usage().open() == 2);
    }

    @Test
    void one_hung_connect_holds_up_nobody_else() throws Exception {
      CountDownLatch hung = new CountDownLatch(1);
      fixture.driver.onConnect =
          attempt -> {
            if (attempt == 1) {
              await(hung);
            }
          };
      TenantPool pool = fixture.pool(3);
      FutureTask<Connection> first = fixture.start(() -> borrow(pool));
      Await.until("the first hangs", () -> fixture.driver.attempts.get() == 1);
      FutureTask<Connection> second = fixture.start(() -> borrow(pool));
      // The opening for the second goes to the first in the queue; a third one is started when the
      // hung one has lasted too long to be of help.
      Connection one = get(first);
      Connection two = get(second);
      assertThat(fixture.driver.attempts).hasValue(3);
      one.close();
      two.close();
      hung.countDown();
      Await.until("all are open", () -> pool.usage().open() == 3);
    }

    @Test
    void a_full_server_means_wait_and_not_fail() throws Exception {
      fixture.driver.onConnect =
          attempt -> {
            if (attempt <= 5) {
              throw new SQLException("too many connections for role", "53300");
            }
          };
      TenantPool pool = fixture.pool(1);
      borrow(pool).close();
      assertThat(pool.usage().counters().refused53300()).isEqualTo(5);
      assertThat(fixture.events.openFailed).hasSize(5);
    }

    @Test
    void a_server_that_stays_full_is_named_in_the_timeout() throws Exception {
      fixture.driver.onConnect =
          attempt -> {
            throw new SQLException("too many connections for role", "53300");
          };
      TenantPool pool = fixture.pool(1);
      BorrowFailure failure =
          failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(100)));
      assertThat(failure)
          .isInstanceOfSatisfying(
              BorrowFailure.TimedOut.class,
              timedOut ->
                  assertThat((Throwable) timedOut.lastOpenFailure())
                      .hasMessageContaining("too many"));
      Await.until("nothing is tried for nobody", () -> pool.usage().opening() == 0);
    }

    @Test
    void a_wrong_password_fails_everybody_at_once_without_a_storm_of_logins() throws Exception {
      fixture.driver.onConnect =
          attempt -> {
            throw new SQLException("password authentication failed", "28P01");
          };
      TenantPool pool = fixture.pool(20);
      List<FutureTask<BorrowFailure>> threads = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        threads.add(fixture.start(() -> failureOf(() -> borrow(pool))));
      }
      for (FutureTask<BorrowFailure> thread : threads) {
        assertThat(get(thread)).isInstanceOf(BorrowFailure.OpenFailed.class);
      }
      assertThat(fixture.driver.attempts.get()).isLessThanOrEqualTo(25);
    }

    @Test
    void a_mended_password_is_noticed() throws Exception {
      fixture.driver.onConnect =
          attempt -> {
            if (attempt == 1) {
              throw new SQLException("password authentication failed", "28P01");
            }
          };
      TenantPool pool = fixture.pool(1);
      assertThat(failureOf(() -> borrow(pool))).isInstanceOf(BorrowFailure.OpenFailed.class);
      Await.until(
          "a connection comes",
          () -> {
            try {
              borrow(pool).close();
              return true;
            } catch (SQLException e) {
              return false;
            }
          });
    }

    @Test
    void with_a_connection_open_those_who_wait_are_not_failed_by_a_wrong_password()
        throws Exception {
      TenantPool pool = fixture.pool(2);
      Connection held = borrow(pool);
      fixture.driver.onConnect =
          attempt -> {
            throw new SQLException("password authentication failed", "28P01");
          };
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      Await.until("an opening failed", () -> !fixture.events.openFailed.isEmpty());
      held.close();
      get(waiting).close();
    }

    @Test
    void a_url_that_the_driver_does_not_know_fails_at_once() throws Exception {
      TenantPool pool =
          fixture.pool(
              TenantPoolSettings.builder("web@shop", "jdbc:other:", new java.util.Properties())
                  .driver(fixture.driver)
                  .initialLimit(1));
      assertThat(failureOf(() -> borrow(pool))).isInstanceOf(BorrowFailure.OpenFailed.class);
    }

    @Test
    void a_connection_that_cannot_be_set_up_is_closed_and_tried_again() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(1).readOnly(true));
      fixture.driver.failSetups.set(2);
      borrow(pool).close();
      assertThat(fixture.driver.made).hasSize(3);
      assertThat(fixture.driver.mostAlive).hasValue(1);
      assertThat(fixture.events.openFailed)
          .extracting(SQLException::getMessage)
          .containsExactly("cannot be set up", "cannot be set up");
      assertThat(pool.usage().counters().failedOpens()).isEqualTo(2);
    }

    @Test
    void a_failing_init_statement_closes_the_connection_and_is_told() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(1).connectionInitSql("set nonsense"));
      fixture.driver.onMade =
          connection -> connection.failOnUse = new SQLException("no such setting", "42704");
      assertThat(failureOf(() -> borrow(pool)))
          .isInstanceOfSatisfying(
              BorrowFailure.OpenFailed.class,
              failed -> assertThat((Throwable) failed.cause()).hasMessage("no such setting"));
      assertThat(fixture.driver.alive).hasValue(0);
    }

    private void await(CountDownLatch latch) throws SQLException {
      try {
        latch.await();
      } catch (InterruptedException e) {
        throw new SQLException(e);
      }
    }
  }

  /** Every way in which a loan can end gives the slot back exactly once. */
  @Nested
  class Endings {

    private void slotIsBackOnce(TenantPool pool) throws Exception {
      Await.until("nothing is in use", () -> pool.usage().inUse() == 0);
      Await.until("nothing is closing", () -> pool.usage().closing() == 0);
      pool.checkInvariants();
      List<Connection> held = borrow(pool, 2);
      assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(20))))
          .isInstanceOf(BorrowFailure.TimedOut.class);
      close(held);
      assertThat(fixture.driver.mostAlive.get()).isLessThanOrEqualTo(2);
    }

    @Test
    void closed_twice() throws Exception {
      TenantPool pool = fixture.pool(2);
      Connection lent = borrow(pool);
      lent.close();
      lent.close();
      slotIsBackOnce(pool);
      assertThat(fixture.driver.made).hasSize(2);
    }

    @Test
    void aborted_and_never_closed() throws Exception {
      TenantPool pool = fixture.pool(2);
      borrow(pool).abort(Runnable::run);
      slotIsBackOnce(pool);
    }

    @Test
    void aborted_and_closed_later_while_another_has_the_slot() throws Exception {
      TenantPool pool = fixture.pool(1);
      Connection lent = borrow(pool);
      lent.abort(Runnable::run);
      Connection next = borrow(pool);
      lent.close();
      assertThat(pool.usage().inUse()).isEqualTo(1);
      assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(20))))
          .isInstanceOf(BorrowFailure.TimedOut.class);
      assertThat(next.unwrap(StubConnection.class).closed).isFalse();
      next.close();
    }

    @Test
    void closed_through_unwrap() throws Exception {
      TenantPool pool = fixture.pool(2);
      Connection lent = borrow(pool);
      lent.unwrap(Connection.class).close();
      slotIsBackOnce(pool);
      lent.close();
      slotIsBackOnce(pool);
    }

    @Test
    void the_drivers_connection_closed_behind_our_back() throws Exception {
      TenantPool pool = fixture.pool(2);
      Connection lent = borrow(pool);
      lent.unwrap(StubConnection.class).close();
      assertThatThrownBy(lent::close).isInstanceOf(SQLException.class);
      slotIsBackOnce(pool);
    }

    @Test
    void its_backend_terminated() throws Exception {
      TenantPool pool = fixture.pool(2);
      Connection lent = borrow(pool);
      lent.unwrap(StubConnection.class).failOnUse =
          new SQLException("terminating connection", "57P01");
      assertThatThrownBy(lent::createStatement).isInstanceOf(SQLException.class);
      slotIsBackOnce(pool);
      assertThatCode(lent::close).doesNotThrowAnyException();
      slotIsBackOnce(pool);
    }

    @Test
    void a_rollback_that_fails_at_the_end() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(2).autoCommit(false));
      Connection lent = borrow(pool);
      lent.createStatement().execute("select 1");
      lent.unwrap(StubConnection.class).failOnRollback = new SQLException("broken", "08006");
      assertThatThrownBy(lent::close).isInstanceOf(SQLException.class);
      slotIsBackOnce(pool);
    }

    @Test
    void found_dead_at_the_next_borrow() throws Exception {
      TenantPool pool = fixture.pool(2);
      borrow(pool).close();
      fixture.driver.last().valid = false;
      TimeUnit.MILLISECONDS.sleep(600); // HikariCP tests what was idle for more than 500 ms
      Connection fresh = borrow(pool);
      assertThat(fixture.driver.made).hasSize(2);
      fresh.close();
      slotIsBackOnce(pool);
    }

    @Test
    void a_close_that_fails_stays_closing_until_told_or_given_up() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(1).closeGiveUp(Duration.ofMillis(700)));
      Connection lent = borrow(pool);
      fixture.driver.last().failOnClose = new SQLException("cannot close", "08006");
      pool.limit(0);
      lent.close();
      Await.until("it is closing", () -> pool.usage().closing() == 1);
      Await.until("it is told", () -> fixture.events.closeUnconfirmed.get() == 1);
      pool.limit(1);
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      waitUntilWaiting(pool, 1);
      assertThat(pool.usage().opening()).isZero();
      get(waiting).close();
      assertThat(pool.usage().counters().gaveUpCloses()).isEqualTo(1);
    }
  }

  @Nested
  class Keeping {

    @Test
    void a_connection_under_keepalive_is_waited_for_elsewhere_and_not_lost() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(1).keepaliveTime(Duration.ofMillis(50)));
      CountDownLatch testing = new CountDownLatch(1);
      CountDownLatch go = new CountDownLatch(1);
      fixture.driver.onMade =
          connection ->
              connection.onValidate =
                  () -> {
                    if (connection.validations.incrementAndGet() == 1) {
                      testing.countDown();
                      try {
                        go.await();
                      } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                      }
                    }
                  };
      borrow(pool).close();
      testing.await();
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      waitUntilWaiting(pool, 1);
      assertThat(pool.usage().open()).isEqualTo(1);
      go.countDown();
      get(waiting).close();
      assertThat(fixture.driver.made).hasSize(1);
    }

    @Test
    void a_connection_past_its_lifetime_is_replaced_and_nobody_notices() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(1).maxLifetime(Duration.ofMillis(100)));
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
      while (System.nanoTime() - end < 0) {
        borrow(pool).close();
      }
      assertThat(fixture.driver.made.size()).isBetween(2, 12);
      assertThat(fixture.driver.mostAlive).hasValue(1);
    }

    @Test
    void all_connections_that_age_out_at_once_under_waiting_threads_come_back() throws Exception {
      TenantPool pool = fixture.pool(fixture.settings(4).maxLifetime(Duration.ofMillis(150)));
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
      List<FutureTask<Integer>> threads = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        threads.add(
            fixture.start(
                () -> {
                  int served = 0;
                  while (System.nanoTime() - end < 0) {
                    try (Connection mine = borrow(pool)) {
                      mine.createStatement().close();
                      TimeUnit.MILLISECONDS.sleep(1);
                      served++;
                    }
                  }
                  return served;
                }));
      }
      for (FutureTask<Integer> thread : threads) {
        assertThat(get(thread)).isPositive();
      }
      assertThat(fixture.driver.made.size()).isGreaterThan(8);
      assertThat(fixture.driver.mostAlive.get()).isLessThanOrEqualTo(4);
    }
  }

  @Nested
  class Demand {

    @Test
    void it_is_called_out_once_between_two_reports() throws Exception {
      TenantPool pool = fixture.pool(0);
      List<FutureTask<Connection>> waiting = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        waiting.add(fixture.start(() -> borrow(pool)));
        waitUntilWaiting(pool, i + 1);
      }
      assertThat(fixture.events.demandRose).hasValue(1);
      assertThat(pool.report().demand()).isEqualTo(5);
      waiting.add(fixture.start(() -> borrow(pool)));
      waitUntilWaiting(pool, 6);
      assertThat(fixture.events.demandRose).hasValue(2);
      pool.limit(6);
      for (FutureTask<Connection> thread : waiting) {
        get(thread).close();
      }
    }

    @Test
    void it_counts_what_was_in_use_a_moment_ago_and_forgets_it_after_a_second() throws Exception {
      TenantPool pool = fixture.pool(5);
      close(borrow(pool, 5));
      assertThat(pool.usage().demand()).isEqualTo(5);
      Await.until("it is forgotten", () -> pool.usage().demand() == 0);
    }
  }

  @Nested
  class Closing {

    @Test
    void it_fails_those_who_wait_and_those_who_come() throws Exception {
      TenantPool pool = fixture.pool(1);
      Connection held = borrow(pool);
      FutureTask<BorrowFailure> waiting = fixture.start(() -> failureOf(() -> borrow(pool)));
      waitUntilWaiting(pool, 1);
      pool.close();
      assertThat(get(waiting)).isInstanceOf(BorrowFailure.Closed.class);
      assertThat(failureOf(() -> borrow(pool))).isInstanceOf(BorrowFailure.Closed.class);
      held.close();
      assertThat(pool.awaitClosed(TimeUnit.SECONDS.toNanos(10))).isTrue();
    }

    @Test
    void a_loan_goes_on_and_is_closed_when_it_comes_back() throws Exception {
      TenantPool pool = fixture.pool(2);
      List<Connection> held = borrow(pool, 2);
      pool.close();
      assertThat(pool.awaitClosed(TimeUnit.MILLISECONDS.toNanos(50))).isFalse();
      held.get(0).createStatement().execute("select 1");
      close(held);
      assertThat(pool.awaitClosed(TimeUnit.SECONDS.toNanos(10))).isTrue();
      assertThat(fixture.driver.alive).hasValue(0);
    }

    @Test
    void idle_connections_are_closed() throws Exception {
      TenantPool pool = fixture.pool(5);
      close(borrow(pool, 5));
      pool.close();
      pool.close();
      assertThat(pool.awaitClosed(TimeUnit.SECONDS.toNanos(10))).isTrue();
      assertThat(fixture.driver.alive).hasValue(0);
    }

    @Test
    void opening_and_closing_pools_of_a_stopped_server_leaves_nothing_behind() throws Exception {
      fixture.driver.onConnect =
          attempt -> {
            throw new SQLException("refused", "08001");
          };
      int before = Thread.activeCount();
      for (int i = 0; i < 100; i++) {
        TenantPool pool = fixture.pool(3);
        assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(5))))
            .isInstanceOf(BorrowFailure.TimedOut.class);
        pool.close();
      }
      Await.until("threads are few again", () -> Thread.activeCount() <= before + 12);
    }

    @Test
    void a_pool_closed_while_an_opening_hangs_ends_when_that_comes_back() throws Exception {
      CountDownLatch hung = new CountDownLatch(1);
      fixture.driver.onConnect =
          attempt -> {
            try {
              hung.await();
            } catch (InterruptedException e) {
              throw new SQLException(e);
            }
          };
      TenantPool pool = fixture.pool(1);
      FutureTask<BorrowFailure> waiting = fixture.start(() -> failureOf(() -> borrow(pool)));
      Await.until("it hangs", () -> pool.usage().opening() == 1);
      pool.close();
      assertThat(get(waiting)).isInstanceOf(BorrowFailure.Closed.class);
      hung.countDown();
      assertThat(pool.awaitClosed(TimeUnit.SECONDS.toNanos(10))).isTrue();
    }

    @Test
    void a_pool_that_was_never_used_is_closed_at_once() throws Exception {
      TenantPool pool = fixture.pool(5);
      pool.close();
      assertThat(pool.awaitClosed(TimeUnit.SECONDS.toNanos(10))).isTrue();
    }
  }
}
