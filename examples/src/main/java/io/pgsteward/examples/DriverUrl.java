package io.pgsteward.examples;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * A program that knows nothing of PgSteward but the URL. Connections come from a pool all the same:
 * the second one is the first one again.
 */
public final class DriverUrl {

  private DriverUrl() {}

  /**
   * Arguments: {@code jdbc:pgsteward://host:port/database?coordinator=http://...}, role, password.
   * Without {@code coordinator=} in the URL this process has the whole budget of the server.
   */
  public static void main(String[] arguments) throws SQLException {
    if (arguments.length != 3) {
      System.err.println("usage: DriverUrl jdbc:pgsteward://HOST:PORT/DATABASE ROLE PASSWORD");
      System.exit(2);
    }
    for (int i = 1; i <= 2; i++) {
      try (Connection connection =
              DriverManager.getConnection(arguments[0], arguments[1], arguments[2]);
          Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
        row.next();
        System.out.println("connection " + i + " is served by process " + row.getInt(1));
      }
    }
  }
}
