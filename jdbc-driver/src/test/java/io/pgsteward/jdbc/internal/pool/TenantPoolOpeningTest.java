package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.failureOf;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import java.sql.Connection;
import java.sql.SQLException;
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

/** How connections are opened, on a stub driver. */
@Timeout(60)
@ExtendWith(NoThreadsLeft.class)
class TenantPoolOpeningTest {

  @RegisterExtension final PoolFixture fixture = new PoolFixture();

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
}
