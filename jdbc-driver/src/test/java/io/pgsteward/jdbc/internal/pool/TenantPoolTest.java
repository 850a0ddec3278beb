package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.close;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.failureOf;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.pgsteward.jdbc.internal.pool.StubDriver.StubConnection;
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

/** Borrowing, and the limit, on a stub driver. */
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
}
