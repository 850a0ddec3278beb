package io.pgsteward.server;

import io.pgsteward.server.config.ConfigLoader;
import io.pgsteward.server.config.InstanceConfig;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A PostgreSQL of its own with 40 connections, of which 3 are reserved and 3 the margin, and roles
 * for a configuration. {@link #reset} makes it as new.
 */
final class ManagedServer implements AutoCloseable {

  static final int MAX_CONNECTIONS = 40;

  /** What is left when nobody but the command itself is connected. */
  static final int BUDGET = 33;

  private final PostgresServer postgres =
      TestPostgres.with("max_connections", "" + MAX_CONNECTIONS).start();
  private final List<Connection> opened = new ArrayList<>();
  private String database = "";
  private TestRole coordinator = new TestRole("", "");

  void reset() throws Exception {
    for (Connection one : opened) {
      one.close();
    }
    opened.clear();
    if (!database.isEmpty()) {
      postgres.execute("DROP DATABASE " + database + " WITH (FORCE)");
    }
    for (String role : strings("SELECT rolname FROM pg_roles WHERE rolcanlogin AND oid > 10")) {
      postgres.execute("DROP ROLE " + PostgresServer.quoted(role));
    }
    database = postgres.createDatabase("lock");
    coordinator = postgres.createRoleNamed("coordinator", "IN ROLE pg_monitor");
    for (String role : List.of("web", "worker", "agent_1", "monitor")) {
      postgres.createRoleNamed(role, "");
    }
    quiet();
  }

  /** Waits until the connections that were closed are gone. */
  void quiet() throws Exception {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement()) {
      Await.until(
          "nobody else is connected",
          Duration.ofSeconds(20),
          () -> {
            try (ResultSet row =
                statement.executeQuery(
                    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
                        + " AND pid <> pg_backend_pid() AND usename IN ('postgres', 'coordinator')")) {
              row.next();
              return row.getInt(1) == 0;
            } catch (SQLException e) {
              throw new IllegalStateException(e);
            }
          });
    }
  }

  Path config(Path directory, String... more) throws Exception {
    Path file = Files.createTempFile(directory, "pgsteward", ".yml");
    Files.writeString(
        file,
        """
        instances:
          main:
            url: %s
            user: coordinator
            password: "%s"
            tenants:
              web@shop: { guarantee: 16 }
              worker@shop: { guarantee: 8 }
              "agent*@*": { max: 5 }
            foreign: [monitor]
        """
                .formatted(postgres.url(database), coordinator.password())
            + String.join("", more));
    return file;
  }

  static InstanceConfig instance(Path config) throws Exception {
    return new ConfigLoader(Map.of()).load(config).instances().get(0);
  }

  /** Runs SQL as a superuser in the lock database. */
  void run(String sql) throws Exception {
    postgres.executeIn(database, sql);
    quiet();
  }

  /** Opens connections of a role and keeps them. */
  void connect(String role, int count) throws Exception {
    for (int i = 0; i < count; i++) {
      opened.add(postgres.connect(database, new TestRole(role, "secret of " + role)));
    }
  }

  Map<String, Integer> limits() throws Exception {
    Map<String, Integer> limits = new TreeMap<>();
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT rolname, rolconnlimit FROM pg_roles WHERE rolname IN ('web', 'worker',"
                    + " 'agent_1')")) {
      while (rows.next()) {
        limits.put(rows.getString(1), rows.getInt(2));
      }
    }
    quiet();
    return limits;
  }

  private List<String> strings(String sql) throws SQLException {
    List<String> strings = new ArrayList<>();
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      while (rows.next()) {
        strings.add(rows.getString(1));
      }
    }
    return strings;
  }

  String url() {
    return postgres.url(database);
  }

  @Override
  public void close() throws SQLException {
    for (Connection one : opened) {
      one.close();
    }
    postgres.close();
  }
}
