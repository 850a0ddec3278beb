package io.pgsteward.examples.demo;

import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.jdbc.TenantSnapshot;
import io.pgsteward.testing.JvmProcess;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;

/**
 * One application process: threads that run transactions for as long as they are let. Nothing in it
 * says how many connections it may have.
 */
final class BankApplication {

  private static final int REPORT_MILLIS = 200;

  private final String name;
  private final PgStewardDataSource dataSource;
  private final int thinkMillis;
  private final AtomicLong committed = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final Errors errors = new Errors();
  private final WaitHistogram waits = new WaitHistogram();
  private final CountDownLatch stop = new CountDownLatch(1);

  private BankApplication(String name, PgStewardDataSource dataSource, int thinkMillis) {
    this.name = name;
    this.dataSource = dataSource;
    this.thinkMillis = thinkMillis;
  }

  /** Arguments: name, role, password, URL, coordinator, threads, think time in ms. */
  public static void main(String[] arguments) throws InterruptedException {
    PgStewardConfig config =
        PgStewardConfig.builder()
            .jdbcUrl(arguments[3])
            .username(arguments[1])
            .password(arguments[2])
            .coordinator(arguments[4])
            .build();
    BankApplication application =
        new BankApplication(
            arguments[0], new PgStewardDataSource(config), Integer.parseInt(arguments[6]));
    application.run(Integer.parseInt(arguments[5]));
  }

  private void run(int threads) throws InterruptedException {
    JvmProcess.onCommand(
        line -> {
          if (line.equals("stop")) {
            stop.countDown();
          }
        });
    List<Thread> running = new ArrayList<>();
    for (int i = 1; i <= threads; i++) {
      Thread thread = new Thread(this::work, name + "-" + i);
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
    System.out.println("closed");
  }

  private void work() {
    while (stop.getCount() > 0) {
      try {
        transaction(dataSource);
        committed.incrementAndGet();
      } catch (SQLException e) {
        failed.incrementAndGet();
        errors.add(1, e.toString());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private void transaction(DataSource dataSource) throws SQLException, InterruptedException {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    int account = random.nextInt(1, Bank.ACCOUNTS + 1);
    int teller = random.nextInt(1, Bank.TELLERS + 1);
    int branch = random.nextInt(1, Bank.BRANCHES + 1);
    long delta = random.nextLong(-5_000, 5_001);
    long asked = System.nanoTime();
    try (Connection connection = dataSource.getConnection()) {
      waits.record(TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - asked));
      connection.setAutoCommit(false);
      read(connection, account);
      Thread.sleep(thinkMillis);
      add(connection, "UPDATE account SET balance = balance + ? WHERE id = ?", delta, account);
      add(connection, "UPDATE teller SET balance = balance + ? WHERE id = ?", delta, teller);
      add(connection, "UPDATE branch SET balance = balance + ? WHERE id = ?", delta, branch);
      try (PreparedStatement insert =
          connection.prepareStatement("INSERT INTO history VALUES (?, ?, ?, ?, ?)")) {
        insert.setString(1, name);
        insert.setInt(2, teller);
        insert.setInt(3, branch);
        insert.setInt(4, account);
        insert.setLong(5, delta);
        insert.executeUpdate();
      }
      connection.commit();
    }
  }

  private static void read(Connection connection, int account) throws SQLException {
    try (PreparedStatement select =
        connection.prepareStatement("SELECT balance FROM account WHERE id = ?")) {
      select.setInt(1, account);
      try (ResultSet row = select.executeQuery()) {
        row.next();
      }
    }
  }

  private static void add(Connection connection, String sql, long delta, int id)
      throws SQLException {
    try (PreparedStatement update = connection.prepareStatement(sql)) {
      update.setLong(1, delta);
      update.setInt(2, id);
      update.executeUpdate();
    }
  }

  private void report() {
    for (Errors.Seen seen : errors.drain()) {
      System.out.println(Application.ERROR + seen.count() + " " + seen.text());
    }
    TenantSnapshot now = dataSource.snapshot();
    System.out.println(
        new Usage(
                committed.get(),
                failed.get(),
                now.demand(),
                now.limit(),
                now.held(),
                now.opening(),
                now.closing(),
                now.waiting(),
                waits.drain())
            .line());
  }
}
