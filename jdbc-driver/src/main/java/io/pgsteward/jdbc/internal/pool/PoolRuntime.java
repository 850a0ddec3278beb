package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.model.Ticker;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Clock and threads that all pools of one member share. The member owns it: it closes its pools
 * first, then this. All threads are daemons, are started at need and end after some idle seconds.
 * Thread-safe.
 *
 * <p>HikariCP's own work (housekeeping, keepalive, maxLifetime, leak reports) has a scheduler of
 * its own: a keepalive on a stopped backend blocks its thread for the whole validation timeout, and
 * nothing of ours may wait behind that.
 */
public final class PoolRuntime implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(PoolRuntime.class);

  private static final int HOUSEKEEPERS = 4;
  private static final int CLEANERS = 4;
  private static final long IDLE_SECONDS = 5;
  private static final long GRACE_SECONDS = 2;

  private final Ticker ticker;
  private final ScheduledThreadPoolExecutor housekeeper;
  private final ScheduledThreadPoolExecutor timer;
  private final ThreadPoolExecutor cleaner;
  private final Set<TenantPool> pools = ConcurrentHashMap.newKeySet();

  /** A runtime on the JVM's clock. */
  public PoolRuntime() {
    this(Ticker.system());
  }

  /** A runtime on another clock. Delays of tasks still run on the JVM's. */
  public PoolRuntime(Ticker ticker) {
    this.ticker = ticker;
    this.housekeeper = scheduler(HOUSEKEEPERS, "housekeeper");
    this.timer = scheduler(1, "timer");
    this.cleaner =
        new ThreadPoolExecutor(
            CLEANERS,
            CLEANERS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            threads("shared", "cleaner"),
            new ThreadPoolExecutor.DiscardPolicy());
    this.cleaner.allowCoreThreadTimeOut(true);
  }

  private static ScheduledThreadPoolExecutor scheduler(int threads, String job) {
    ScheduledThreadPoolExecutor scheduler =
        new ScheduledThreadPoolExecutor(
            threads, threads("shared", job), new ThreadPoolExecutor.DiscardPolicy());
    scheduler.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    scheduler.allowCoreThreadTimeOut(true);
    scheduler.setRemoveOnCancelPolicy(true);
    scheduler.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    scheduler.setContinueExistingPeriodicTasksAfterShutdownPolicy(false);
    return scheduler;
  }

  /** Daemon threads named {@code pgsteward-<pool>-<job>-<number>}. */
  static ThreadFactory threads(String pool, String job) {
    AtomicInteger number = new AtomicInteger();
    return task -> {
      Thread thread =
          new Thread(task, "pgsteward-" + pool + "-" + job + "-" + number.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  Ticker ticker() {
    return ticker;
  }

  void add(TenantPool pool) {
    pools.add(pool);
  }

  void remove(TenantPool pool) {
    pools.remove(pool);
  }

  /** For HikariCP alone; its tasks may block for a validation timeout. */
  ScheduledExecutorService housekeeper() {
    return housekeeper;
  }

  /** Runs a task of ours after that time; it never blocks. */
  Future<?> after(long nanos, Runnable task) {
    return timer.schedule(() -> guarded(task), nanos, TimeUnit.NANOSECONDS);
  }

  /** A failure in one task must not end what it would have scheduled next without a word. */
  private static void guarded(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOG.error("A task of the connection pools has failed", e);
    }
  }

  /** For closing HikariCP pools and other work that blocks. */
  ExecutorService cleaner() {
    return cleaner;
  }

  /**
   * Closes the pools that are still open, ends what hangs in them, and ends the threads.
   * Connections that the application still has go on and are closed when it closes them. Waits a
   * few seconds at most. Idempotent.
   */
  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    List<TenantPool> left = List.copyOf(pools);
    left.forEach(TenantPool::close);
    left.forEach(TenantPool::abandonHanging);
    try {
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(GRACE_SECONDS);
      for (TenantPool pool : left) {
        pool.awaitClosed(deadline - System.nanoTime());
      }
      timer.shutdownNow();
      housekeeper.shutdownNow();
      cleaner.shutdown();
      cleaner.awaitTermination(GRACE_SECONDS, TimeUnit.SECONDS);
      timer.awaitTermination(1, TimeUnit.SECONDS);
      housekeeper.awaitTermination(1, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      interrupted = true;
    } finally {
      timer.shutdownNow();
      housekeeper.shutdownNow();
      cleaner.shutdownNow();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
