package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.pgsteward.jdbc.GrantingCoordinator.Answer;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Every limit that can be full, hit in turn at a real PostgreSQL: each has its own words, all have
 * one SQLState (field report A24).
 */
@Tag("postgres")
@ExtendWith(NoThreadsLeft.class)
class FullLimitsTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(1);

  private final PostgresServer server = TestPostgres.shared();
  private final List<AutoCloseable> opened = new ArrayList<>();
  private TestRole role;
  private String database;

  @BeforeEach
  void makeTenant() throws SQLException {
    role = server.createRole("full");
    database = server.createDatabase("limits");
  }

  @AfterEach
  void closeAll() throws Exception {
    for (int i = opened.size() - 1; i >= 0; i--) {
      opened.get(i).close();
    }
  }

  private PgStewardConfig.Builder settings(PostgresServer where, Answer answer) throws IOException {
    GrantingCoordinator coordinator = new GrantingCoordinator(answer);
    opened.add(coordinator);
    return PgStewardConfig.builder()
        .jdbcUrl(where.url(database))
        .username(role.name())
        .password(role.password())
        .coordinator(coordinator.url())
        .connectionTimeout(Duration.ofSeconds(30));
  }

  /** Takes connections until there is no more. */
  private NoSlotException full(PgStewardConfig.Builder settings, int expected) throws SQLException {
    PgStewardDataSource dataSource = new PgStewardDataSource(settings.build());
    opened.add(dataSource);
    for (int i = 0; i < expected; i++) {
      Connection connection = dataSource.getConnection();
      opened.add(connection);
    }
    dataSource.setLoginTimeout((int) TIMEOUT.toSeconds());
    NoSlotException error = catchThrowableOfType(NoSlotException.class, dataSource::getConnection);
    assertThat(error.getSQLState()).isEqualTo("53300");
    assertThat(error.tenant()).isEqualTo(role.name() + "@" + database);
    assertThat((Throwable) error).hasMessageContaining("in-use=" + expected);
    System.out.println(error.getMessage());
    return error;
  }

  private static Answer answer(
      int grant, int tenantGranted, @Nullable Integer max, int granted, int budget) {
    return new Answer(grant, tenantGranted, max, granted, budget, null);
  }

  @Test
  void the_tenants_max() throws Exception {
    NoSlotException error = full(settings(server, answer(2, 5, 5, 60, 97)), 2);
    assertThat(error.limit()).isEqualTo(FullLimit.TENANT_MAX);
    assertThat((Throwable) error).hasMessageContaining("the tenant's max of 5 is reached");
  }

  @Test
  void this_processes_grant() throws Exception {
    NoSlotException error = full(settings(server, answer(2, 5, 50, 60, 97)), 2);
    assertThat(error.limit()).isEqualTo(FullLimit.MEMBER_GRANT);
    assertThat((Throwable) error).hasMessageContaining("all 2 slots granted to this process");
    assertThat(error.waited()).isGreaterThanOrEqualTo(TIMEOUT.minusMillis(10));
  }

  @Test
  void the_budget() throws Exception {
    NoSlotException error = full(settings(server, answer(2, 5, 50, 97, 97)), 2);
    assertThat(error.limit()).isEqualTo(FullLimit.BUDGET);
    assertThat((Throwable) error)
        .hasMessageContainingAll("the budget of 97", "other tenants 92", "coordinator=http://");
  }

  @Test
  void the_limit_of_the_role() throws Exception {
    server.execute("ALTER ROLE " + role.name() + " CONNECTION LIMIT 1");
    NoSlotException error = full(settings(server, answer(3, 3, null, 60, 97)), 1);
    assertThat(error.limit()).isEqualTo(FullLimit.ROLE_LIMIT);
    assertThat((Throwable) error)
        .hasMessageContaining("role " + role.name() + ", whose CONNECTION LIMIT")
        .hasCauseInstanceOf(SQLException.class);
  }

  @Test
  void the_limit_of_the_database() throws Exception {
    server.execute("ALTER DATABASE " + database + " CONNECTION LIMIT 1");
    NoSlotException error = full(settings(server, answer(3, 3, null, 60, 97)), 1);
    assertThat(error.limit()).isEqualTo(FullLimit.DATABASE_LIMIT);
    assertThat((Throwable) error).hasMessageContaining("database " + database);
  }

  @Test
  void the_server() throws Exception {
    try (PostgresServer small = TestPostgres.with("max_connections", "6").start()) {
      small.createRoleNamed(role.name(), "");
      small.createDatabaseNamed(database, small.superuser());
      // 3 of 6 are reserved for superusers: 3 are left for others.
      NoSlotException error = full(settings(small, answer(9, 9, null, 60, 97)), 3);
      assertThat(error.limit()).isEqualTo(FullLimit.SERVER);
      assertThat((Throwable) error).hasMessageContaining("PostgreSQL is full (max_connections");
      while (opened.size() > 0) {
        opened.remove(opened.size() - 1).close();
      }
    }
  }

  @Test
  void the_cap_of_this_process() throws Exception {
    NoSlotException error =
        full(settings(server, answer(9, 9, null, 60, 97)).maximumPoolSize(2), 2);
    assertThat(error.limit()).isEqualTo(FullLimit.PROCESS_CAP);
    assertThat((Throwable) error).hasMessageContaining("maximumPoolSize=2");
  }

  @Test
  void the_waiters() throws Exception {
    PgStewardDataSource dataSource =
        new PgStewardDataSource(
            settings(server, answer(1, 1, null, 60, 97))
                .maxWaiters(1)
                .connectionTimeout(Duration.ofSeconds(30))
                .build());
    opened.add(dataSource);
    Connection only = dataSource.getConnection();
    Thread waiter =
        new Thread(
            () -> {
              try {
                dataSource.getConnection().close();
              } catch (SQLException e) {
                throw new IllegalStateException(e);
              }
            });
    waiter.start();
    Await.until("the waiter waits", () -> dataSource.snapshot().waiting() == 1);
    NoSlotException error = catchThrowableOfType(NoSlotException.class, dataSource::getConnection);
    assertThat(error.limit()).isEqualTo(FullLimit.WAITERS);
    assertThat(error.waited()).isZero();
    assertThat((Throwable) error).hasMessageContaining("maxWaiters=1");
    System.out.println(error.getMessage());
    only.close();
    waiter.join();
  }
}
