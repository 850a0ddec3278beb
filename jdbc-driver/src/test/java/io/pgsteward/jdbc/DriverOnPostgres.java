package io.pgsteward.jdbc;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * What end-to-end tests of the driver share: a server, a tenant of their own, what is closed at the
 * end.
 */
@Tag("postgres")
@ExtendWith(NoThreadsLeft.class)
abstract class DriverOnPostgres {

  final PostgresServer server = TestPostgres.shared();
  final List<AutoCloseable> opened = new ArrayList<>();
  TestRole role;
  String database;

  @BeforeEach
  void makeTenant() throws SQLException {
    role = server.createRole("app");
    database = server.createDatabase("shop");
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : opened) {
      each.close();
    }
    PgStewardDriver.closeAll();
  }

  <T extends AutoCloseable> T opened(T closeable) {
    opened.add(closeable);
    return closeable;
  }

  String url(String parameters) {
    return "jdbc:pgsteward://" + server.host() + ":" + server.port() + "/" + database + parameters;
  }

  PgStewardConfig.Builder settings() {
    return PgStewardConfig.builder()
        .jdbcUrl(url(""))
        .username(role.name())
        .password(role.password())
        .connectionTimeout(Duration.ofSeconds(20));
  }

  PgStewardDataSource dataSource(PgStewardConfig.Builder settings) {
    return opened(new PgStewardDataSource(settings.build()));
  }

  static int one(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT 1")) {
      rows.next();
      return rows.getInt(1);
    }
  }

  /** Backends of the role that serve the application, seen by a superuser. */
  int backends() throws SQLException {
    try (Connection connection = server.connect();
        PreparedStatement statement =
            connection.prepareStatement(
                "SELECT count(*) FROM pg_stat_activity WHERE usename = ? AND datname = ?"
                    + " AND application_name LIKE '%pgsteward-%'")) {
      statement.setString(1, role.name());
      statement.setString(2, database);
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return rows.getInt(1);
      }
    }
  }

  void awaitBackends(int count) throws InterruptedException {
    Await.until(
        count + " backends",
        () -> {
          try {
            return backends() == count;
          } catch (SQLException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  static long threadsOfOurs() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("pgsteward-"))
        .count();
  }

  static String unusedCoordinator() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return "http://127.0.0.1:" + socket.getLocalPort();
    }
  }
}
