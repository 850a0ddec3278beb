package io.pgsteward.benchmarks;

import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;

/**
 * n threads ask an empty pool of n at once and hold what they get for a second: when does the last
 * one have its connection? Prints the median over the rounds; the pools take turns.
 */
public final class ColdBurst {

  private static final List<Pools> COMPARED = List.of(Pools.PGSTEWARD, Pools.HIKARI, Pools.AGROAL);
  private static final long HOLD_MILLIS = 1_000;

  private ColdBurst() {}

  /** Takes the number of rounds; 9 when left out. */
  public static void main(String[] arguments) throws Exception {
    int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 9;
    try (PostgresServer server = TestPostgres.with("max_connections", "120").start()) {
      for (int threads : new int[] {8, 50}) {
        Map<Pools, List<Double>> last = new EnumMap<>(Pools.class);
        for (int round = -1; round < rounds; round++) {
          for (Pools make : COMPARED) {
            double millis = burst(make, server, threads);
            if (round >= 0) {
              last.computeIfAbsent(make, m -> new ArrayList<>()).add(millis);
            }
          }
        }
        System.out.printf("%nempty pool, %d threads ask at once; the last has it after%n", threads);
        last.forEach((make, all) -> System.out.println(line(make, all)));
      }
    }
  }

  private static String line(Pools make, List<Double> all) {
    double[] sorted = all.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return String.format(
        "  %-24s median %7.1f ms   (%s)",
        make,
        sorted[sorted.length / 2],
        String.join(" ", Arrays.stream(sorted).mapToObj(d -> String.format("%.0f", d)).toList()));
  }

  private static double burst(Pools make, PostgresServer server, int threads) throws Exception {
    DataSource pool = make.open(server, threads);
    try {
      CountDownLatch go = new CountDownLatch(1);
      AtomicLong lastNanos = new AtomicLong();
      List<Thread> all = new ArrayList<>();
      long[] begun = new long[1];
      for (int i = 0; i < threads; i++) {
        Thread thread =
            new Thread(
                () -> {
                  try {
                    go.await();
                    try (Connection held = pool.getConnection()) {
                      long now = System.nanoTime() - begun[0];
                      lastNanos.accumulateAndGet(now, Math::max);
                      Thread.sleep(HOLD_MILLIS);
                      held.isReadOnly();
                    }
                  } catch (SQLException | InterruptedException e) {
                    lastNanos.accumulateAndGet(Long.MAX_VALUE / 2, Math::max);
                    System.err.println(make + ": " + e.getMessage());
                  }
                });
        all.add(thread);
        thread.start();
      }
      begun[0] = System.nanoTime();
      go.countDown();
      for (Thread thread : all) {
        thread.join();
      }
      return lastNanos.get() / 1e6;
    } finally {
      Pools.close(pool);
      awaitNoBackends(server);
    }
  }

  private static void awaitNoBackends(PostgresServer server) throws Exception {
    try (Connection own = server.connect()) {
      while (true) {
        try (var result =
            own.createStatement()
                .executeQuery(
                    "select count(*) from pg_stat_activity where backend_type = 'client backend'")) {
          result.next();
          if (result.getInt(1) == 1) {
            return;
          }
        }
        Thread.sleep(5);
      }
    }
  }
}
