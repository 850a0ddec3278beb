package io.pgsteward.postgres;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Roles of a coordinator, of applications and of others, in a database of its own. */
abstract class LimitsOnPostgres {

  PostgresServer postgres;
  int version;
  String database;
  TestRole coordinator;
  TestRole web;
  TestRole agent;
  TestRole monitor;
  TestRole boss;
  PolicyBook policies;
  Connection connection;

  abstract PostgresServer server();

  @BeforeEach
  void make() throws SQLException {
    postgres = server();
    database = postgres.createDatabase("limits");
    coordinator = postgres.createRole("coordinator");
    web = postgres.createRole("web");
    agent = postgres.createRole("agent");
    monitor = postgres.createRole("monitor");
    boss = postgres.createRoleNamed(postgres.newName("agent"), "SUPERUSER");
    policies = policies(web.name() + "@shop", "agent*@*");
    connection = postgres.connect(database, coordinator);
    version = connection.getMetaData().getDatabaseMajorVersion();
  }

  PolicyBook policies(String... entries) {
    PolicyBook.Builder builder = PolicyBook.builder().ownRole(coordinator.name());
    builder.foreign(monitor.name());
    for (String entry : entries) {
      builder.tenant(entry, TenantPolicy.DEFAULT);
    }
    return builder.build();
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  void setUpFunctions() throws SQLException {
    run(SetupSql.byFunction(version, coordinator.name(), policies.managedRoles()));
  }

  void run(String sql) throws SQLException {
    postgres.executeIn(database, sql);
  }

  RoleLimits limits() throws SQLException {
    return RoleLimits.over(connection);
  }

  int limit(TestRole role) throws SQLException {
    return number("SELECT rolconnlimit FROM pg_roles WHERE rolname = " + literal(role.name()));
  }

  int number(String sql) throws SQLException {
    try (Connection superuser = postgres.connect(database);
        Statement statement = superuser.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      row.next();
      return row.getInt(1);
    }
  }

  static String literal(String text) {
    return "'" + text.replace("'", "''") + "'";
  }

  void limitBy(String who, int limit) throws SQLException {
    postgres.execute("ALTER ROLE " + PostgresServer.quoted(who) + " CONNECTION LIMIT " + limit);
  }

  LoginRole seen(TestRole role) throws SQLException {
    return limits().roles().stream()
        .filter(one -> one.name().equals(role.name()))
        .findFirst()
        .orElseThrow();
  }
}
