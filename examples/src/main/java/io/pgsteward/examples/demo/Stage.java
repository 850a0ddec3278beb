package io.pgsteward.examples.demo;

import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.Witness;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToLongFunction;

/**
 * What the story is played on: an embedded PostgreSQL, the coordinator as its own process, the
 * application processes, and the two observers. The list of applications may be read by any thread.
 */
final class Stage implements AutoCloseable {

  static final int BUDGET = 100;
  static final int MARGIN = 3;
  private static final int SUPERUSER_RESERVED = 3;

  /** The coordinator's session and the witness's. */
  private static final int FOREIGN = 2;

  private static final int CONNECT_SECONDS = 2;
  private static final Set<String> TENANTS = Set.of("web", "worker");

  private final PostgresServer postgres;
  private final CoordinatorProcess coordinator;
  private final Witness witness;
  private final CoordinatorWatch watch;
  private final List<Application> applications = new CopyOnWriteArrayList<>();
  private final Errors errors = new Errors();
  private final Map<String, WaitHistogram> waits =
      Map.of("web", new WaitHistogram(), "worker", new WaitHistogram());

  Stage() throws SQLException, InterruptedException {
    postgres =
        TestPostgres.with("max_connections", Integer.toString(maxConnections()))
            .and("superuser_reserved_connections", Integer.toString(SUPERUSER_RESERVED))
            .startEmbedded();
    for (String role : List.of("web", "worker", "administrator", "monitor")) {
      postgres.execute("CREATE ROLE " + role + " LOGIN PASSWORD '" + password(role) + "'");
    }
    Bank.create(postgres);
    witness = Witness.watch(postgres, TENANTS::contains);
    coordinator =
        CoordinatorSetup.of(postgres)
            .lease("3s")
            .margin(MARGIN)
            .tenant("web@" + Bank.DATABASE, "{ guarantee: " + Share.WEB_GUARANTEE + " }")
            .tenant("worker@" + Bank.DATABASE, "{ guarantee: " + Share.WORKER_GUARANTEE + " }")
            .start();
    coordinator.awaitReady();
    watch = new CoordinatorWatch(coordinator);
  }

  static int maxConnections() {
    return BUDGET + SUPERUSER_RESERVED + MARGIN + FOREIGN;
  }

  static String password(String role) {
    return "secret of " + role;
  }

  PostgresServer postgres() {
    return postgres;
  }

  CoordinatorProcess coordinator() {
    return coordinator;
  }

  Witness witness() {
    return witness;
  }

  CoordinatorWatch watch() {
    return watch;
  }

  List<Application> applications() {
    return applications;
  }

  /** What failed in any application. */
  Errors errors() {
    return errors;
  }

  WaitHistogram waits(String tenant) {
    return java.util.Objects.requireNonNull(waits.get(tenant));
  }

  /** Starts further processes of a tenant. */
  void join(String tenant, int processes, int threadsEach, int thinkMillis) {
    String url =
        "jdbc:pgsteward://127.0.0.1:"
            + postgres.port()
            + "/"
            + Bank.DATABASE
            + "?connectTimeout="
            + CONNECT_SECONDS;
    for (int i = 0; i < processes; i++) {
      String name =
          tenant + "-" + (1 + applications.stream().filter(a -> a.tenant().equals(tenant)).count());
      applications.add(
          new Application(
              name,
              tenant,
              threadsEach,
              thinkMillis,
              url,
              coordinator.url(),
              waits(tenant),
              errors));
    }
  }

  /** The sum of a figure over the living processes of a tenant. */
  long sum(String tenant, ToLongFunction<Usage> figure) {
    return applications.stream()
        .filter(application -> application.tenant().equals(tenant) && application.isAlive())
        .mapToLong(application -> figure.applyAsLong(application.usage()))
        .sum();
  }

  /** The sum of a figure over all processes that were ever started. */
  long sumOfAll(ToLongFunction<Usage> figure) {
    return applications.stream()
        .mapToLong(application -> figure.applyAsLong(application.usage()))
        .sum();
  }

  @Override
  public void close() throws SQLException {
    watch.close();
    applications.forEach(Application::close);
    coordinator.close();
    witness.close();
    postgres.close();
  }
}
