package io.pgsteward.examples;

import io.pgsteward.jdbc.PgStewardDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** A program that uses the DataSource with nothing around it. */
public final class PlainDataSource {

  private PlainDataSource() {}

  /**
   * Arguments: {@code jdbc:pgsteward://host:port/database}, role, password, and the coordinator's
   * address, e.g. {@code http://127.0.0.1:7432}.
   */
  public static void main(String[] arguments) throws SQLException {
    if (arguments.length != 4) {
      System.err.println(
          "usage: PlainDataSource jdbc:pgsteward://HOST:PORT/DATABASE ROLE PASSWORD"
              + " http://COORDINATOR:PORT");
      System.exit(2);
    }
    try (PgStewardDataSource dataSource = new PgStewardDataSource()) {
      dataSource.setJdbcUrl(arguments[0]);
      dataSource.setUsername(arguments[1]);
      dataSource.setPassword(arguments[2]);
      dataSource.setCoordinator(arguments[3]);

      try (Connection connection = dataSource.getConnection();
          PreparedStatement statement = connection.prepareStatement("SELECT 'hello, ' || ?")) {
        statement.setString(1, arguments[1]);
        try (ResultSet row = statement.executeQuery()) {
          row.next();
          System.out.println(row.getString(1));
        }
      }

      System.out.println(
          "granted "
              + dataSource.snapshot().limit()
              + " of a budget of "
              + dataSource.snapshot().coordinator().budget());
    }
  }
}
