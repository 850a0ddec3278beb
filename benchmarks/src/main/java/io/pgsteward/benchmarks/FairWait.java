package io.pgsteward.benchmarks;

import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;

/**
 * More threads than connections, each holding one for a fixed time and asking again at once: what
 * is the longest wait? The pools take turns; printed is the largest of each pool's rounds, and the
 * median.
 */
public final class FairWait {

  private static final List<Pools> COMPARED =
      List.of(Pools.PGSTEWARD, Pools.TOMCAT, Pools.HIKARI, Pools.AGROAL);

  /** What one round came to. */
  private record Result(double longestMillis, long timeouts, long borrows) {}

  private FairWait() {}

  /** Takes the seconds of a round and the number of rounds; 10 and 3 when left out. */
  public static void main(String[] arguments) throws Exception {
    int seconds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
    int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 3;
    try (PostgresServer server = TestPostgres.with("max_connections", "60").start()) {
      compare(server, 100, 10, Duration.ofMillis(200), seconds, rounds);
      compare(server, 4, 2, Duration.ofMillis(1), seconds, rounds);
    }
  }

  private static void compare(
      PostgresServer server, int threads, int connections, Duration hold, int seconds, int rounds)
      throws Exception {
    Map<Pools, List<Result>> results = new EnumMap<>(Pools.class);
    for (int round = 0; round < rounds; round++) {
      for (Pools make : COMPARED) {
        results
            .computeIfAbsent(make, m -> new ArrayList<>())
            .add(measure(make, server, threads, connections, hold, Duration.ofSeconds(seconds)));
      }
    }
    System.out.printf(
        "%n%d threads on %d connections holding %d ms, %d rounds of %d s%n",
        threads, connections, hold.toMillis(), rounds, seconds);
    results.forEach(
        (make, all) -> {
          double[] longest = all.stream().mapToDouble(Result::longestMillis).sorted().toArray();
          System.out.printf(
              "  %-24s longest wait: median %8.1f ms, largest %8.1f ms   time-outs %d, borrows %d%n",
              make,
              longest[longest.length / 2],
              longest[longest.length - 1],
              all.stream().mapToLong(Result::timeouts).sum(),
              all.stream().mapToLong(Result::borrows).sum());
        });
  }

  private static Result measure(
      Pools make, PostgresServer server, int threads, int connections, Duration hold, Duration time)
      throws Exception {
    DataSource pool = make.open(server, connections);
    try {
      open(pool, connections);
      AtomicLong longest = new AtomicLong();
      AtomicLong timeouts = new AtomicLong();
      AtomicLong borrows = new AtomicLong();
      long end = System.nanoTime() + time.toNanos();
      List<Thread> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        Thread thread =
            new Thread(
                () -> {
                  while (System.nanoTime() - end < 0) {
                    long asked = System.nanoTime();
                    try (Connection held = pool.getConnection()) {
                      longest.accumulateAndGet(System.nanoTime() - asked, Math::max);
                      borrows.incrementAndGet();
                      LockSupport.parkNanos(hold.toNanos());
                      held.isReadOnly();
                    } catch (SQLException e) {
                      longest.accumulateAndGet(System.nanoTime() - asked, Math::max);
                      timeouts.incrementAndGet();
                    }
                  }
                });
        all.add(thread);
        thread.start();
      }
      for (Thread thread : all) {
        thread.join();
      }
      return new Result(longest.get() / 1e6, timeouts.get(), borrows.get());
    } finally {
      Pools.close(pool);
    }
  }

  /** All connections are open before the clock runs. */
  private static void open(DataSource pool, int connections) throws SQLException {
    List<Connection> all = new ArrayList<>();
    for (int i = 0; i < connections; i++) {
      all.add(pool.getConnection());
    }
    for (Connection one : all) {
      one.close();
    }
  }
}
