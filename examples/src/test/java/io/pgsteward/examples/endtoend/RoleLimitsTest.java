package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.postgres.SetupSql;
import io.pgsteward.protocol.StatusResponse.StrayStatus;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pools, the coordinator's jar and PostgreSQL, which itself refuses what was not granted. */
@Tag("postgres")
@SuppressWarnings("NullAway.Init") // by start
class RoleLimitsTest {

  private static final int BUDGET = 12;
  private static final int GUARANTEE = 6;

  @TempDir private Path directory;
  private PostgresServer postgres;
  private Connection admin;
  private TestRole web;
  private TestRole worker;
  private CoordinatorProcess coordinator;
  private final List<AutoCloseable> opened = new ArrayList<>();

  /** Reserved 3, a margin of 3, and two foreign connections: the coordinator's and the test's. */
  @BeforeEach
  void start() throws Exception {
    postgres =
        TestPostgres.with("max_connections", Integer.toString(BUDGET + 3 + 3 + 2))
            .and("superuser_reserved_connections", "3")
            .start();
    admin = postgres.connect();
    web = postgres.createRole("web");
    worker = postgres.createRole("worker");
    TestRole steward = postgres.createRoleNamed("pgsteward", "IN ROLE pg_monitor");
    PolicyBook policies =
        PolicyBook.builder()
            .tenant(web.name() + "@postgres", TenantPolicy.DEFAULT)
            .tenant(worker.name() + "@postgres", TenantPolicy.DEFAULT)
            .ownRole(steward.name())
            .build();
    int version = admin.getMetaData().getDatabaseMajorVersion();
    try (Statement statement = admin.createStatement()) {
      statement.execute(SetupSql.byFunction(version, steward.name(), policies.managedRoles()));
    }
    int port = CoordinatorProcess.freePort();
    coordinator = CoordinatorProcess.start(file(steward, port), port, line -> {});
    coordinator.awaitReady();
  }

  private Path file(TestRole steward, int port) throws IOException {
    String yaml =
        """
        listen: 127.0.0.1:%d
        lease: 3s
        instances:
          main:
            url: jdbc:postgresql://%s:%d/postgres
            user: %s
            password: "%s"
            enforce: required
            tenants:
              "%s@postgres": { guarantee: %d }
              "%s@postgres": { guarantee: 2 }
        """
            .formatted(
                port,
                postgres.host(),
                postgres.port(),
                steward.name(),
                steward.password(),
                web.name(),
                GUARANTEE,
                worker.name());
    return Files.writeString(directory.resolve("pgsteward.yml"), yaml);
  }

  @AfterEach
  void stop() throws Exception {
    for (AutoCloseable each : opened) {
      each.close();
    }
    coordinator.close();
    admin.close();
    postgres.close();
  }

  private PgStewardDataSource dataSource(TestRole role) {
    PgStewardDataSource dataSource =
        new PgStewardDataSource(
            PgStewardConfig.builder()
                .jdbcUrl(postgres.url("postgres"))
                .username(role.name())
                .password(role.password())
                .coordinator(coordinator.url())
                .fallbackSlots(0)
                .connectionTimeout(Duration.ofSeconds(30))
                .build());
    opened.add(dataSource);
    return dataSource;
  }

  private Connection borrow(PgStewardDataSource dataSource) throws SQLException {
    Connection connection = dataSource.getConnection();
    opened.add(0, connection);
    return connection;
  }

  private int limit(TestRole role) {
    return number("SELECT rolconnlimit FROM pg_roles WHERE rolname = '" + role.name() + "'");
  }

  private int number(String sql) {
    try (Statement statement = admin.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      row.next();
      return row.getInt(1);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private void limitsFit() {
    assertThat(limit(web)).isNotNegative();
    assertThat(limit(worker)).isNotNegative();
    assertThat(limit(web) + limit(worker)).isLessThanOrEqualTo(BUDGET);
  }

  @Test
  void a_process_that_bypasses_the_pool_is_refused_and_nobody_else_notices() throws Exception {
    PgStewardDataSource pool = dataSource(web);
    for (int i = 0; i < GUARANTEE - 1; i++) {
      borrow(pool);
    }
    Await.until("headroom up to the guarantee", () -> limit(web) == GUARANTEE);
    opened.add(0, direct());
    assertThatThrownBy(this::direct)
        .isInstanceOfSatisfying(
            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("53300"));
    Await.until(
        "it shows as a stray",
        () -> {
          try {
            return coordinator.instance().strays().stream()
                    .filter(stray -> stray.role().equals(web.name()))
                    .mapToInt(StrayStatus::count)
                    .sum()
                == 1;
          } catch (IOException e) {
            return false;
          }
        });
    PgStewardDataSource other = dataSource(worker);
    for (int i = 0; i < 4; i++) {
      borrow(other);
    }
    limitsFit();
  }

  @Test
  void a_limit_changed_by_another_hand_is_put_right_and_no_connection_is_lost() throws Exception {
    PgStewardDataSource pool = dataSource(web);
    List<Connection> held = new ArrayList<>();
    for (int i = 0; i < 9; i++) {
      held.add(borrow(pool));
    }
    Await.until("limits follow", () -> limit(web) >= 9);
    limitsFit();
    try (Statement statement = admin.createStatement()) {
      statement.execute("ALTER ROLE " + PostgresServer.quoted(web.name()) + " CONNECTION LIMIT 2");
    }
    Await.until("put right", () -> limit(web) >= 9);
    for (Connection connection : held) {
      assertThat(connection.isValid(5)).isTrue();
    }
    borrow(pool);
    limitsFit();
  }

  private Connection direct() throws SQLException {
    return DriverManager.getConnection(postgres.url("postgres"), web.name(), web.password());
  }
}
