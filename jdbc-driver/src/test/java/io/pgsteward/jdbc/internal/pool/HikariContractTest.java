package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.metrics.IMetricsTracker;
import com.zaxxer.hikari.pool.HikariPool;
import io.pgsteward.jdbc.internal.pool.StubDriver.StubConnection;
import io.pgsteward.testing.Await;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What our pools rely on in the pinned HikariCP, much of it internals: a new version that breaks
 * one of these tests needs a new look at {@link SlotPool}. Each test names the trap that it guards
 * against; that our pools do not fall into it is shown in {@link TenantPoolTest} and {@link
 * TenantPoolPostgresTest}.
 */
@Timeout(60)
class HikariContractTest {

  private final StubDriver driver = new StubDriver();
  private final AtomicInteger returns = new AtomicInteger();
  private final AtomicInteger created = new AtomicInteger();
  private volatile Runnable onReturn = () -> {};
  private final ScheduledExecutorService scheduler = Executors.newScheduledThreadPool(1);
  private final HikariConfig config = new HikariConfig();
  private HikariPool pool = start(0);

  private HikariPool start(long keepalive) {
    config.setPoolName("contract");
    config.setMaximumPoolSize(1);
    config.setMinimumIdle(0);
    config.setInitializationFailTimeout(-1);
    config.setKeepaliveTime(keepalive);
    config.setScheduledExecutor(scheduler);
    config.setDataSource(
        new StubDataSource(
            () -> Objects.requireNonNull(driver.connect("jdbc:stub:", new Properties()))));
    config.setMetricsTrackerFactory(
        (name, stats) ->
            new IMetricsTracker() {
              @Override
              public void recordConnectionUsageMillis(long millis) {
                returns.incrementAndGet();
                onReturn.run();
              }

              @Override
              public void recordConnectionCreatedMillis(long millis) {
                created.incrementAndGet();
              }
            });
    return new HikariPool(config);
  }

  @BeforeEach
  void settle() {
    returns.set(0);
  }

  @AfterEach
  void stop() throws InterruptedException {
    pool.shutdown();
    scheduler.shutdownNow();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  // Opening without anybody waiting inside HikariCP.

  @Test
  void raising_minimum_idle_and_asking_for_an_item_opens_without_a_borrower() throws Exception {
    config.setMinimumIdle(1);
    pool.addBagItem(1);
    Await.until("it is open", () -> pool.getIdleConnections() == 1);
    config.setMinimumIdle(0);
    assertThat(driver.attempts).hasValue(1);
    assertThat(created).hasValue(1);
  }

  @Test
  void minimum_idle_put_back_ends_the_retries_of_a_failed_opening() throws Exception {
    driver.onConnect =
        attempt -> {
          config.setMinimumIdle(0);
          throw new SQLException("no");
        };
    config.setMinimumIdle(1);
    pool.addBagItem(1);
    Await.until("it failed", () -> created.get() == 1);
    TimeUnit.MILLISECONDS.sleep(100);
    assertThat(driver.attempts).hasValue(1);
  }

  @Test
  void created_is_told_at_the_end_of_a_failed_opening_too() throws Exception {
    driver.failSetups.set(1);
    config.setReadOnly(true);
    HikariPool other = start(0);
    assertThatThrownBy(() -> other.getConnection(1)).isInstanceOf(SQLException.class);
    Await.until("it is told", () -> created.get() >= 1);
    other.shutdown();
  }

  // Trap 1: which ends of a loan the metrics hook tells of, and when.

  @Test
  void trap_1_a_return_is_told_before_the_evicted_check() throws Exception {
    Connection lent = pool.getConnection(5_000);
    onReturn = pool::softEvictConnections;
    lent.close();
    assertThat(returns).hasValue(1);
    Await.until("it is closed by that very return", () -> driver.last().closed);
  }

  @Test
  void trap_1_abort_eviction_and_broken_connections_are_not_told() throws Exception {
    Connection aborted = pool.getConnection(5_000);
    aborted.abort(Runnable::run);
    assertThat(returns).hasValue(0);
    pool.evictConnection(aborted);
    assertThat(returns).hasValue(0);
    Connection broken = pool.getConnection(5_000);
    driver.last().failOnUse = new SQLException("terminated", "57P01");
    assertThatThrownBy(broken::createStatement).isInstanceOf(SQLException.class);
    broken.close();
    assertThat(returns).hasValue(0);
  }

  @Test
  void trap_1_a_late_close_of_an_evicted_connection_is_not_told() throws Exception {
    Connection lent = pool.getConnection(5_000);
    lent.abort(Runnable::run);
    pool.evictConnection(lent);
    Connection next = pool.getConnection(5_000);
    lent.close();
    assertThat(returns).hasValue(0);
    next.close();
    assertThat(returns).hasValue(1);
  }

  // Trap 2: a borrower inside HikariCP is stranded when a connection ends at minimumIdle 0.

  @Test
  void trap_2_nobody_opens_for_a_borrower_inside_unless_an_item_is_asked_for() throws Exception {
    Connection lent = pool.getConnection(5_000);
    CountDownLatch done = new CountDownLatch(1);
    Thread borrower =
        new Thread(
            () -> {
              try (Connection mine = pool.getConnection(30_000)) {
                assertThat(mine.isClosed()).isFalse();
                done.countDown();
              } catch (SQLException e) {
                throw new IllegalStateException(e);
              }
            });
    borrower.start();
    Await.until("it waits inside", () -> pool.getThreadsAwaitingConnection() == 1);
    TimeUnit.MILLISECONDS.sleep(100); // its request for an item is over
    pool.softEvictConnections();
    lent.close();
    Await.until("the pool is empty", () -> pool.getTotalConnections() == 0);
    assertThat(done.await(200, TimeUnit.MILLISECONDS)).isFalse();
    pool.addBagItem(pool.getThreadsAwaitingConnection());
    await(done);
    borrower.join();
  }

  @Test
  void trap_2_a_borrow_with_no_time_finds_what_is_idle_and_waits_for_nothing() throws Exception {
    pool.getConnection(5_000).close();
    for (int i = 0; i < 100; i++) {
      pool.getConnection(0).close();
    }
    pool.softEvictConnections();
    Await.until("it is closed", () -> driver.last().closed);
    assertThatThrownBy(() -> pool.getConnection(0)).isInstanceOf(SQLException.class);
  }

  // Trap 3: an opening refused while a borrower waits inside lets it wait to its deadline.

  @Test
  void trap_3_a_refused_opening_is_not_told_to_a_borrower_inside() throws Exception {
    driver.onConnect =
        attempt -> {
          throw new SQLException("not now");
        };
    long began = System.nanoTime();
    assertThatThrownBy(() -> pool.getConnection(300)).isInstanceOf(SQLException.class);
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began))
        .isGreaterThanOrEqualTo(290);
  }

  // Trap 4: abort without close leaves the entry in use.

  @Test
  void trap_4_an_aborted_connection_stays_until_it_is_evicted() throws Exception {
    Connection lent = pool.getConnection(5_000);
    lent.abort(Runnable::run);
    pool.softEvictConnections();
    assertThat(pool.getTotalConnections()).isEqualTo(1);
    pool.evictConnection(lent);
    assertThat(pool.getTotalConnections()).isZero();
  }

  // Trap 5: softEvict misses an opening that is under way.

  @Test
  void trap_5_an_opening_under_way_survives_an_eviction() throws Exception {
    CountDownLatch connecting = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    driver.onConnect =
        attempt -> {
          connecting.countDown();
          await(go);
        };
    config.setMinimumIdle(1);
    pool.addBagItem(1);
    await(connecting);
    config.setMinimumIdle(0);
    pool.softEvictConnections();
    go.countDown();
    Await.until("it is open all the same", () -> pool.getIdleConnections() == 1);
    pool.softEvictConnections();
    Await.until("the repetition closes it", () -> driver.last().closed);
  }

  // Trap 6: keepalive tests on the shared scheduler and blocks it.

  @Test
  void trap_6_a_keepalive_test_holds_the_scheduler_and_the_connection() throws Exception {
    pool.shutdown();
    pool = start(50);
    CountDownLatch testing = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    AtomicInteger tests = new AtomicInteger();
    driver.onMade =
        connection ->
            connection.onValidate =
                () -> {
                  if (tests.incrementAndGet() > 1) { // the first one is the set-up's
                    testing.countDown();
                    await(go);
                  }
                };
    pool.getConnection(5_000).close();
    await(testing);
    CountDownLatch other = new CountDownLatch(1);
    scheduler.execute(other::countDown);
    assertThat(other.await(100, TimeUnit.MILLISECONDS)).isFalse();
    assertThat(pool.getIdleConnections()).isZero();
    assertThat(pool.getTotalConnections()).isEqualTo(1);
    go.countDown();
    await(other);
  }

  // Trap 7: closing blocks and aborts.

  @Test
  void trap_7_a_shutdown_aborts_a_loan_and_wakes_no_borrower() throws Exception {
    Connection lent = pool.getConnection(5_000);
    CountDownLatch failed = new CountDownLatch(1);
    Thread borrower =
        new Thread(
            () -> {
              try {
                pool.getConnection(700).close();
              } catch (SQLException e) {
                failed.countDown();
              }
            });
    borrower.start();
    Await.until("it waits inside", () -> pool.getThreadsAwaitingConnection() == 1);
    pool.shutdown();
    assertThat(driver.last().closed).isTrue();
    assertThat(lent.unwrap(StubConnection.class).closed).isTrue();
    assertThat(failed.getCount()).isEqualTo(1);
    await(failed);
    borrower.join();
  }

  // Trap 8: pools of slots are used again rather than closed.

  @Test
  void trap_8_an_emptied_pool_opens_again() throws Exception {
    for (int i = 0; i < 3; i++) {
      pool.getConnection(5_000).close();
      pool.softEvictConnections();
      Await.until("it is empty", () -> pool.getTotalConnections() == 0);
    }
    assertThat(driver.made).hasSize(3);
  }

  // Trap 9: texts name the pool, and the failure behind them is kept.

  @Test
  void trap_9_a_timeout_names_the_pool_and_keeps_what_the_driver_said() {
    driver.onConnect =
        attempt -> {
          throw new SQLException("the driver's words", "08001");
        };
    assertThatThrownBy(() -> pool.getConnection(100))
        .isInstanceOfSatisfying(
            SQLException.class,
            e -> {
              assertThat(e.getMessage()).startsWith("contract - ");
              assertThat((Throwable) e.getNextException()).hasMessage("the driver's words");
            });
  }

  // Trap 10: the timeout per call exists on the pool alone, and the pool can be made directly.

  @Test
  void trap_10_the_pool_takes_a_timeout_per_call() throws Exception {
    Method borrow = HikariPool.class.getMethod("getConnection", long.class);
    assertThat(borrow.getReturnType()).isEqualTo(Connection.class);
    long began = System.nanoTime();
    try (Connection lent = pool.getConnection(5_000)) {
      assertThat(lent.isClosed()).isFalse();
      assertThatThrownBy(() -> pool.getConnection(50)).isInstanceOf(SQLException.class);
    }
    assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began)).isLessThan(20);
  }

  // Trap 11: HikariCP's own back-off after a failed opening.

  @Test
  void trap_11_hikari_retries_by_itself_as_long_as_somebody_waits_inside() throws Exception {
    driver.onConnect =
        attempt -> {
          if (attempt <= 3) {
            throw new SQLException("full", "53300");
          }
        };
    long began = System.nanoTime();
    pool.getConnection(20_000).close();
    assertThat(driver.attempts).hasValue(4);
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began))
        .as("10 + 20 + 40 ms")
        .isGreaterThanOrEqualTo(65);
  }

  @Test
  void after_an_opening_the_adder_rests_for_thirty_milliseconds() throws Exception {
    pool.getConnection(5_000).close();
    pool.softEvictConnections();
    Await.until("it is empty", () -> pool.getTotalConnections() == 0);
    config.setMinimumIdle(1);
    pool.addBagItem(1);
    Await.until("it opens afterwards", () -> pool.getIdleConnections() == 1);
    config.setMinimumIdle(0);
    assertThat(driver.made).hasSize(2);
  }
}
