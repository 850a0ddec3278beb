package io.pgsteward.postgres;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;

/**
 * Opens physical connections to the lock database of one instance. The seam between a session and
 * how one logs in. Thread-safe.
 */
@FunctionalInterface
public interface ConnectionSource {

  /**
   * A new connection that nobody else uses.
   *
   * @throws SQLException if there is none; it must come within a deadline of its own
   */
  Connection open() throws SQLException;

  /**
   * Opens connections by the PostgreSQL JDBC driver.
   *
   * @param url {@code jdbc:postgresql://host:port/database}, the database being the lock database
   * @param login user, password and further properties of the driver; copied
   * @param deadline the longest that one opening may last; properties that set the driver's own
   *     timeouts go before it
   */
  static ConnectionSource of(String url, Properties login, Duration deadline) {
    String seconds = Long.toString(Math.max(1, deadline.toSeconds()));
    Properties properties = new Properties();
    properties.setProperty("connectTimeout", seconds);
    properties.setProperty("loginTimeout", seconds);
    properties.setProperty("socketTimeout", seconds);
    properties.setProperty("tcpKeepAlive", "true");
    login
        .stringPropertyNames()
        .forEach(name -> properties.setProperty(name, property(login, name)));
    return () -> DriverManager.getConnection(url, properties);
  }

  private static String property(Properties properties, String name) {
    return properties.getProperty(name, "");
  }
}
