package io.pgsteward.benchmarks;

import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.JvmProcess;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * From the moment a thread waits to its connection, through the coordinator jar as a process of its
 * own: with free budget, and when the slot must be reclaimed from an idle holder in another
 * process. Connecting to PostgreSQL is part of each figure, and is shown alone as well.
 */
public final class GrantLatency {

  private static final int BUDGET = 40;
  private static final int ASKED = 25;

  private GrantLatency() {}

  /**
   * Takes the number of rounds; 8 when left out. As many rounds before them warm both processes up:
   * a coordinator in production is not a JVM that was started a moment ago.
   */
  public static void main(String[] arguments) throws Exception {
    int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 8;
    // superuser_reserved_connections 3, the coordinator's session 1, margin 3
    int maxConnections = BUDGET + 3 + 1 + 3;
    try (PostgresServer server =
        TestPostgres.with("max_connections", String.valueOf(maxConnections)).start()) {
      TestRole role = server.createRole("app");
      List<Double> connecting = new ArrayList<>();
      for (int round = -rounds; round < rounds; round++) {
        List<Double> keep = round < 0 ? new ArrayList<>() : connecting;
        keep.addAll(
            askOneByOne(
                () ->
                    DriverManager.getConnection(
                        server.url("postgres"), role.name(), role.password())));
      }
      try (CoordinatorProcess coordinator =
          CoordinatorSetup.of(server).others("{ guarantee: 0 }").start()) {
        coordinator.awaitReady();
        TimeUnit.SECONDS.sleep(4); // one lease of learning
        List<Double> free = new ArrayList<>();
        List<Double> reclaimed = new ArrayList<>();
        for (int round = -rounds; round < rounds; round++) {
          List<Double> keep = round < 0 ? new ArrayList<>() : free;
          try (PgStewardDataSource asking = dataSource(server, role, coordinator, "asking")) {
            keep.addAll(askOneByOne(asking::getConnection));
          }
          TimeUnit.SECONDS.sleep(1);
        }
        for (int round = -rounds; round < rounds; round++) {
          List<Double> keep = round < 0 ? new ArrayList<>() : reclaimed;
          keep.addAll(askWhileAnotherHoldsAll(server, role, coordinator));
        }
        print("connecting alone, by the driver", connecting);
        print("free budget", free);
        print("reclaimed from an idle holder in another process", reclaimed);
      }
    }
  }

  private static List<Double> askWhileAnotherHoldsAll(
      PostgresServer server, TestRole role, CoordinatorProcess coordinator) throws Exception {
    LinkedBlockingQueue<String> said = new LinkedBlockingQueue<>();
    try (JvmProcess holder =
            JvmProcess.start(
                "holder",
                Holder.class,
                List.of(server.url("postgres"), role.name(), role.password(), coordinator.url()),
                said::add);
        PgStewardDataSource asking = dataSource(server, role, coordinator, "asking")) {
      String line = said.poll(60, TimeUnit.SECONDS);
      while (line != null && !line.equals("idle")) {
        line = said.poll(60, TimeUnit.SECONDS);
      }
      if (line == null) {
        throw new IllegalStateException("the holder did not fill the budget: " + holder.tail());
      }
      TimeUnit.SECONDS.sleep(2); // its demand is the maximum over a second
      List<Double> waits = askOneByOne(asking::getConnection);
      holder.terminate();
      return waits;
    } finally {
      TimeUnit.SECONDS.sleep(1);
    }
  }

  static PgStewardDataSource dataSource(
      PostgresServer server, TestRole role, CoordinatorProcess coordinator, String name) {
    return dataSource(
        server.url("postgres"), role.name(), role.password(), coordinator.url(), name);
  }

  static PgStewardDataSource dataSource(
      String url, String user, String password, String coordinator, String name) {
    return new PgStewardDataSource(
        PgStewardConfig.builder()
            .jdbcUrl(url)
            .username(user)
            .password(password)
            .coordinator(coordinator)
            .fallbackSlots(0)
            .property("ApplicationName", name)
            .build());
  }

  private interface Source {
    Connection getConnection() throws SQLException;
  }

  private static List<Double> askOneByOne(Source asking) throws Exception {
    List<Double> waits = new ArrayList<>();
    List<Connection> held = new ArrayList<>();
    try {
      held.add(asking.getConnection()); // joining is not part of the figure
      for (int i = 0; i < ASKED; i++) {
        TimeUnit.MILLISECONDS.sleep(60);
        long asked = System.nanoTime();
        held.add(asking.getConnection());
        waits.add((System.nanoTime() - asked) / 1e6);
      }
    } finally {
      for (Connection one : held) {
        one.close();
      }
    }
    return waits;
  }

  private static void print(String title, List<Double> waits) {
    double[] sorted = waits.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    System.out.printf(
        "%-52s median %6.1f ms, 90 %% %6.1f ms, largest %6.1f ms (%d waits)%n",
        title,
        sorted[sorted.length / 2],
        sorted[sorted.length * 9 / 10],
        sorted[sorted.length - 1],
        sorted.length);
  }

  /** A process that opens as many connections as it is granted and then lets them idle. */
  static final class Holder {

    private Holder() {}

    public static void main(String[] arguments) throws Exception {
      JvmProcess.onCommand(command -> {});
      PgStewardDataSource dataSource =
          dataSource(arguments[0], arguments[1], arguments[2], arguments[3], "holder");
      List<Connection> held = new ArrayList<>();
      try {
        while (held.size() < BUDGET - 1) {
          held.add(dataSource.getConnection());
        }
      } catch (SQLException e) {
        System.out.println("has " + held.size() + ": " + e.getMessage());
      }
      for (Connection one : held) {
        one.close();
      }
      System.out.println("idle");
      Thread.currentThread().join();
    }
  }
}
