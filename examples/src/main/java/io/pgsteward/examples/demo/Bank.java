package io.pgsteward.examples.demo;

import io.pgsteward.testing.PostgresServer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;

/** The tables on which the applications work, in the manner of pgbench. */
final class Bank {

  static final String DATABASE = "bank";
  static final int BRANCHES = 100;
  static final int TELLERS = 1_000;
  static final int ACCOUNTS = 20_000;

  private Bank() {}

  static void create(PostgresServer server) throws SQLException {
    server.createDatabaseNamed(DATABASE, server.superuser());
    server.executeIn(
        DATABASE,
        "CREATE TABLE branch (id int PRIMARY KEY, balance bigint NOT NULL)",
        "CREATE TABLE teller (id int PRIMARY KEY, balance bigint NOT NULL)",
        "CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)",
        "CREATE TABLE history (process text, teller int, branch int, account int, delta bigint)",
        "INSERT INTO branch SELECT id, 0 FROM generate_series(1, " + BRANCHES + ") id",
        "INSERT INTO teller SELECT id, 0 FROM generate_series(1, " + TELLERS + ") id",
        "INSERT INTO account SELECT id, 0 FROM generate_series(1, " + ACCOUNTS + ") id",
        "GRANT SELECT, INSERT, UPDATE ON branch, teller, account, history TO web, worker");
  }

  /** How many transactions of each process are in the books. */
  static Map<String, Long> booked(PostgresServer server) throws SQLException {
    Map<String, Long> booked = new HashMap<>();
    try (Connection connection = server.connect(DATABASE);
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("SELECT process, count(*) FROM history GROUP BY process")) {
      while (rows.next()) {
        booked.put(rows.getString(1), rows.getLong(2));
      }
    }
    return booked;
  }

  /** Whether branches, tellers, accounts and history agree to the last unit. */
  static boolean balances(PostgresServer server) throws SQLException {
    try (Connection connection = server.connect(DATABASE);
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT (SELECT sum(balance) FROM branch) = (SELECT sum(delta) FROM history)"
                    + " AND (SELECT sum(balance) FROM teller) = (SELECT sum(delta) FROM history)"
                    + " AND (SELECT sum(balance) FROM account) = (SELECT sum(delta) FROM history)")) {
      rows.next();
      return rows.getBoolean(1);
    }
  }
}
