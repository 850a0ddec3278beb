package io.pgsteward.examples.endtoend;

import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A PostgreSQL that refuses what was not granted: with its coordinator, a role for each tenant, and
 * an administrator's session, which is foreign as the coordinator's is.
 */
final class EnforcedRig implements AutoCloseable {

  /** The coordinator's session and the administrator's. */
  static final int FOREIGN = 2;

  final PostgresServer postgres;
  final CoordinatorProcess coordinator;
  private final Map<String, TestRole> roles = new LinkedHashMap<>();
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private Connection admin;

  /**
   * @param settings of the server
   * @param policies by tenant, which is the beginning of its role's name, as in the file
   */
  EnforcedRig(Map<String, String> settings, int margin, Map<String, String> policies)
      throws Exception {
    TestPostgres server = TestPostgres.own();
    settings.forEach(server::and);
    postgres = server.start();
    admin = postgres.connect();
    CoordinatorSetup setup = CoordinatorSetup.of(postgres).margin(margin).enforced();
    for (Map.Entry<String, String> policy : policies.entrySet()) {
      TestRole role = postgres.createRole(policy.getKey());
      roles.put(policy.getKey(), role);
      setup.tenant(role.name() + "@postgres", policy.getValue());
    }
    coordinator = setup.start();
    coordinator.awaitReady();
  }

  TestRole role(String tenant) {
    TestRole role = roles.get(tenant);
    if (role == null) {
      throw new IllegalArgumentException("no tenant " + tenant);
    }
    return role;
  }

  /** Whether a role is one of the tenants'. */
  boolean manages(String role) {
    return roles.values().stream().anyMatch(one -> one.name().equals(role));
  }

  /**
   * A pool of that tenant.
   *
   * @param member pools of one name share a member; without tokens in the file any is as good
   */
  PgStewardDataSource dataSource(String tenant, String member) {
    PgStewardDataSource dataSource =
        new PgStewardDataSource(
            PgStewardConfig.builder()
                .jdbcUrl(postgres.url("postgres"))
                .username(role(tenant).name())
                .password(role(tenant).password())
                .coordinator(coordinator.url())
                .fallbackSlots(0)
                .connectionTimeout(Duration.ofSeconds(30))
                .coordinatorToken(member)
                .build());
    return opened(dataSource);
  }

  /** A connection past the pool, as a careless program makes one. */
  Connection stray(String tenant) throws SQLException {
    return DriverManager.getConnection(
        postgres.url("postgres"), role(tenant).name(), role(tenant).password());
  }

  /** Closed before what was opened earlier. */
  <T extends AutoCloseable> T opened(T resource) {
    opened.push(resource);
    return resource;
  }

  int limit(String tenant) {
    return number(
        "SELECT rolconnlimit FROM pg_roles WHERE rolname = '" + role(tenant).name() + "'");
  }

  int backends(String tenant) {
    return number(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = '" + role(tenant).name() + "'");
  }

  /** What the administrator's session answers. */
  synchronized int number(String sql) {
    try (Statement statement = admin.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      row.next();
      return row.getInt(1);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  synchronized void administer(String sql) throws SQLException {
    try (Statement statement = admin.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Restarts PostgreSQL; the administrator comes back. */
  synchronized void restart(Map<String, String> settings) throws SQLException {
    admin.close();
    postgres.restart(settings);
    admin = postgres.connect();
  }

  @Override
  public void close() throws Exception {
    for (AutoCloseable each : opened) {
      each.close();
    }
    coordinator.close();
    admin.close();
    postgres.close();
  }
}
