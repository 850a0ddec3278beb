package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.Seeds;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.postgresql.PGConnection;

/**
 * What tests of tenant pools on a real PostgreSQL share: a server, a role of their own, settings.
 */
@Tag("postgres")
@Timeout(120)
@ExtendWith({NoThreadsLeft.class, Seeds.class})
abstract class PoolOnPostgres {

  @SuppressWarnings("NullAway.Init") // by startPostgres
  static PostgresServer postgres;

  @RegisterExtension final PoolFixture fixture = new PoolFixture();

  @SuppressWarnings("NullAway.Init") // by makeRole
  TestRole role;

  @BeforeAll
  static void startPostgres() {
    postgres = TestPostgres.shared();
  }

  @BeforeEach
  void makeRole() throws SQLException {
    role = postgres.createRole("pool");
  }

  Properties credentials() {
    Properties properties = new Properties();
    properties.setProperty("user", role.name());
    properties.setProperty("password", role.password());
    return properties;
  }

  TenantPoolSettings.Builder settings(int limit) {
    return TenantPoolSettings.builder("web@shop", postgres.url("postgres"), credentials())
        .initialLimit(limit);
  }

  void limitRoleTo(int connections) throws SQLException {
    postgres.execute(
        "alter role " + PostgresServer.quoted(role.name()) + " connection limit " + connections);
  }

  /** Backends of the role, as PostgreSQL counts them. */
  int backends() throws SQLException {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "select count(*) from pg_stat_activity where usename = '" + role.name() + "'")) {
      rows.next();
      return rows.getInt(1);
    }
  }

  static int pidOf(Connection connection) throws SQLException {
    return connection.unwrap(PGConnection.class).getBackendPID();
  }

  static void query(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
