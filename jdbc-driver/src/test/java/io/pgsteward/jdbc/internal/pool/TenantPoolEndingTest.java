package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.close;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.failureOf;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

/** How connections are kept and how they end, on a stub driver. */
@Timeout(60)
@ExtendWith(NoThreadsLeft.class)
class TenantPoolEndingTest {

  @RegisterExtension final PoolFixture fixture = new PoolFixture();

  private static void waitUntilWaiting(TenantPool pool, int count) throws InterruptedException {
    Await.until(count + " threads wait", () -> pool.usage().waiting() == count);
  }

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
