package io.pgsteward.examples.endtoend;

import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.JvmProcess;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A program whose threads borrow, run a short transaction and give back, until told to stop. */
final class Borrower {

  private static final int REPORT_MILLIS = 100;

  private final PgStewardDataSource dataSource;
  private final int holdMillis;
  private final AtomicLong served = new AtomicLong();
  private final AtomicInteger failed = new AtomicInteger();
  private final AtomicLong longestWaitMicros = new AtomicLong();
  private final CountDownLatch stop = new CountDownLatch(1);
  private volatile long forgottenNanos = System.nanoTime();

  private Borrower(PgStewardDataSource dataSource, int holdMillis) {
    this.dataSource = dataSource;
    this.holdMillis = holdMillis;
  }

  /** Arguments: URL, role, password, coordinator, fallbackSlots, threads, milliseconds to hold. */
  public static void main(String[] arguments) throws InterruptedException {
    PgStewardConfig config =
        PgStewardConfig.builder()
            .jdbcUrl(arguments[0])
            .username(arguments[1])
            .password(arguments[2])
            .coordinator(arguments[3])
            .fallbackSlots(Integer.valueOf(arguments[4]))
            .build();
    new Borrower(new PgStewardDataSource(config), Integer.parseInt(arguments[6]))
        .run(Integer.parseInt(arguments[5]));
  }

  private void run(int threads) throws InterruptedException {
    JvmProcess.onCommand(
        line -> {
          if (line.equals("forget")) {
            forgottenNanos = System.nanoTime();
            longestWaitMicros.set(0);
          } else {
            stop.countDown();
          }
        });
    List<Thread> running = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      Thread thread = new Thread(this::work);
      running.add(thread);
      thread.start();
    }
    while (!stop.await(REPORT_MILLIS, TimeUnit.MILLISECONDS)) {
      report();
    }
    for (Thread thread : running) {
      thread.join();
    }
    report();
    dataSource.close();
  }

  private void work() {
    while (stop.getCount() > 0) {
      long asked = System.nanoTime();
      try (Connection connection = dataSource.getConnection();
          Statement statement = connection.createStatement()) {
        if (asked - forgottenNanos >= 0) {
          long waited = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - asked);
          longestWaitMicros.accumulateAndGet(waited, Math::max);
        }
        try (ResultSet row = statement.executeQuery("SELECT pg_sleep(" + holdMillis / 1e3 + ")")) {
          row.next();
        }
        served.incrementAndGet();
      } catch (SQLException e) {
        if (failed.incrementAndGet() <= 5) {
          System.out.println("failed: " + e);
        }
      }
    }
  }

  private void report() {
    System.out.println(
        new BorrowerProcess.Report(served.get(), failed.get(), longestWaitMicros.get()).line());
  }
}
