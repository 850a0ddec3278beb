package io.pgsteward.examples.endtoend;

import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import io.pgsteward.testing.Witness;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A PostgreSQL with a given budget, its coordinator, a witness, and borrowers of one tenant. */
final class Rig implements AutoCloseable {

  private static final int SUPERUSER_RESERVED = 3;
  private static final int MARGIN = 3;

  /** The coordinator's session and the witness's. */
  private static final int FOREIGN = 2;

  final PostgresServer postgres;
  final TestRole web;
  final String database;
  final Witness witness;
  final CoordinatorProcess coordinator;
  final List<BorrowerProcess> borrowers = new ArrayList<>();

  Rig(int budget) throws SQLException, InterruptedException {
    int maxConnections = budget + SUPERUSER_RESERVED + MARGIN + FOREIGN;
    postgres =
        TestPostgres.with("max_connections", Integer.toString(maxConnections))
            .and("superuser_reserved_connections", Integer.toString(SUPERUSER_RESERVED))
            .start();
    web = postgres.createRole("web");
    database = postgres.createDatabase("shop");
    witness = Witness.watch(postgres, web.name()::equals);
    coordinator =
        CoordinatorSetup.of(postgres)
            .margin(MARGIN)
            .tenant(web.name() + "@" + database, "{ guarantee: 1 }")
            .start();
    coordinator.awaitReady();
  }

  String url() {
    return "jdbc:pgsteward://127.0.0.1:" + postgres.port() + "/" + database + "?connectTimeout=2";
  }

  void startBorrowers(int processes, int threadsEach, int holdMillis, int fallbackSlots) {
    for (int i = 1; i <= processes; i++) {
      borrowers.add(
          new BorrowerProcess(
              "borrower-" + i,
              List.of(
                  url(),
                  web.name(),
                  web.password(),
                  coordinator.url(),
                  Integer.toString(fallbackSlots),
                  Integer.toString(threadsEach),
                  Integer.toString(holdMillis))));
    }
  }

  long served() {
    return borrowers.stream().mapToLong(borrower -> borrower.last().served()).sum();
  }

  int failed() {
    return borrowers.stream().mapToInt(borrower -> borrower.last().failed()).sum();
  }

  /** Transactions a second over the next while. */
  double throughput(long millis) throws InterruptedException {
    long before = served();
    long start = System.nanoTime();
    Thread.sleep(millis);
    return (served() - before) / ((System.nanoTime() - start) / 1e9);
  }

  @Override
  public void close() throws SQLException {
    borrowers.forEach(BorrowerProcess::close);
    coordinator.close();
    witness.close();
    postgres.close();
  }
}
