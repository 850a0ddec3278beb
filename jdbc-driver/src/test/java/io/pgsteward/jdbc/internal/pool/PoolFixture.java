package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Pools on the stub driver for one test. After the test it checks the invariants, that never more
 * connections were alive than allowed, and closes everything.
 */
final class PoolFixture implements BeforeEachCallback, AfterEachCallback {

  /** What a failed borrower gets: the failure itself. */
  static final class Failed extends SQLException {

    private static final long serialVersionUID = 1L;

    private final transient BorrowFailure failure;

    Failed(BorrowFailure failure) {
      super(failure.toString());
      this.failure = failure;
    }

    BorrowFailure failure() {
      return failure;
    }
  }

  /** Counts what the pool tells. */
  static final class Events implements PoolEvents {

    final AtomicInteger demandRose = new AtomicInteger();
    final AtomicInteger slotReleased = new AtomicInteger();
    final AtomicInteger opened = new AtomicInteger();
    final AtomicInteger closed = new AtomicInteger();
    final AtomicInteger closeUnconfirmed = new AtomicInteger();
    final AtomicInteger timedOut = new AtomicInteger();
    final List<SQLException> openFailed = new CopyOnWriteArrayList<>();

    @Override
    public void demandRose() {
      demandRose.incrementAndGet();
    }

    @Override
    public void slotReleased() {
      slotReleased.incrementAndGet();
    }

    @Override
    public void opened(int pid, long nanos) {
      opened.incrementAndGet();
    }

    @Override
    public void closed(int pid) {
      closed.incrementAndGet();
    }

    @Override
    public void closeUnconfirmed(int pid) {
      closeUnconfirmed.incrementAndGet();
    }

    @Override
    public void timedOut(long waitNanos) {
      timedOut.incrementAndGet();
    }

    @Override
    public void openFailed(SQLException failure) {
      openFailed.add(failure);
    }
  }

  private @Nullable PoolRuntime runtime;
  private final List<TenantPool> pools = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  StubDriver driver = new StubDriver();
  Events events = new Events();

  @Override
  public void beforeEach(ExtensionContext context) {
    driver = new StubDriver();
    events = new Events();
    runtime = new PoolRuntime();
  }

  @Override
  public void afterEach(ExtensionContext context) throws Exception {
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(20));
      assertThat(thread.isAlive()).as("%s has ended", thread.getName()).isFalse();
    }
    for (TenantPool pool : pools) {
      pool.checkInvariants();
      pool.close();
    }
    pools.clear();
    runtime().close();
  }

  PoolRuntime runtime() {
    if (runtime == null) {
      throw new IllegalStateException("outside of a test");
    }
    return runtime;
  }

  TenantPoolSettings.Builder settings(int limit) {
    return TenantPoolSettings.builder("web@shop", "jdbc:stub:", new Properties())
        .driver(driver)
        .initialLimit(limit);
  }

  TenantPool pool(int limit) {
    return pool(settings(limit));
  }

  TenantPool pool(TenantPoolSettings.Builder settings) {
    TenantPool pool = new TenantPool(settings.build(), runtime(), events, Failed::new);
    pools.add(pool);
    return pool;
  }

  /** A connection, within a generous time. */
  static Connection borrow(TenantPool pool) throws SQLException {
    return pool.getConnection(TimeUnit.SECONDS.toNanos(20));
  }

  static List<Connection> borrow(TenantPool pool, int count) throws SQLException {
    List<Connection> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      all.add(borrow(pool));
    }
    return all;
  }

  static void close(List<Connection> connections) throws SQLException {
    for (Connection connection : connections) {
      connection.close();
    }
  }

  /** Why the borrow fails. */
  static BorrowFailure failureOf(Callable<?> borrow) throws Exception {
    try {
      borrow.call();
    } catch (Failed e) {
      return e.failure();
    }
    throw new AssertionError("the borrow did not fail");
  }

  /** Runs it on a thread of its own. */
  <T> FutureTask<T> start(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    Thread thread = new Thread(task, "test-" + threads.size());
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
    return task;
  }

  static <T> T get(FutureTask<T> task) throws Exception {
    return task.get(20, TimeUnit.SECONDS);
  }
}
