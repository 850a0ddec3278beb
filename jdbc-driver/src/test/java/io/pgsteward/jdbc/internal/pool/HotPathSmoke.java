package io.pgsteward.jdbc.internal.pool;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.pool.HikariPool;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;

/**
 * Prints what getConnection and close cost beside bare HikariCP, in one run and interleaved. For a
 * look while working; the figures that count come from the benchmarks module.
 */
final class HotPathSmoke {

  @FunctionalInterface
  private interface Source {

    Connection get() throws SQLException;
  }

  public static void main(String[] arguments) throws Exception {
    int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 7;
    StubDriver driver = new StubDriver();
    HikariConfig config = new HikariConfig();
    config.setDataSource(
        new StubDataSource(
            () -> Objects.requireNonNull(driver.connect("jdbc:stub:", new Properties()))));
    config.setMaximumPoolSize(10);
    config.setPoolName("bare");
    HikariPool bare = new HikariPool(config);
    PoolRuntime runtime = new PoolRuntime();
    TenantPool ours =
        new TenantPool(
            TenantPoolSettings.builder("web@shop", "jdbc:stub:", new Properties())
                .driver(driver)
                .initialLimit(10)
                .build(),
            runtime,
            PoolEvents.NONE,
            failure -> new SQLException(failure.toString()));
    for (int threads : new int[] {1, 2}) {
      double[] bareNanos = new double[rounds];
      double[] oursNanos = new double[rounds];
      for (int round = -2; round < rounds; round++) {
        double a = measure(threads, bare::getConnection);
        double b = measure(threads, () -> ours.getConnection(30_000_000_000L));
        if (round >= 0) {
          bareNanos[round] = a;
          oursNanos[round] = b;
        }
      }
      Arrays.sort(bareNanos);
      Arrays.sort(oursNanos);
      System.out.printf(
          "%d threads: bare %.1f ns, ours %.1f ns, ratio %.2f%n",
          threads,
          bareNanos[rounds / 2],
          oursNanos[rounds / 2],
          oursNanos[rounds / 2] / bareNanos[rounds / 2]);
    }
    ours.checkInvariants();
    ours.close();
    runtime.close();
    bare.shutdown();
  }

  private static double measure(int threads, Source source) throws Exception {
    int count = 3_000_000;
    CountDownLatch go = new CountDownLatch(1);
    Thread[] all = new Thread[threads];
    long[] nanos = new long[threads];
    for (int t = 0; t < threads; t++) {
      int me = t;
      all[t] =
          new Thread(
              () -> {
                try {
                  go.await();
                  long begin = cpu();
                  for (int i = 0; i < count; i++) {
                    source.get().close();
                  }
                  nanos[me] = cpu() - begin;
                } catch (Exception e) {
                  throw new IllegalStateException(e);
                }
              });
      all[t].start();
    }
    go.countDown();
    long sum = 0;
    for (int t = 0; t < threads; t++) {
      all[t].join();
      sum += nanos[t];
    }
    return (double) sum / threads / count;
  }

  /** Time of the thread, so that other work on the machine counts less. */
  private static long cpu() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  private HotPathSmoke() {}
}
