package io.pgsteward.postgres;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.model.Ticker;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A short stay on a server without leading it: looks, and changes nothing. Its connection is
 * foreign, as the coordinator's own is. Not thread-safe.
 */
public final class Visit implements AutoCloseable {

  private final Connection connection;
  private final Ticker ticker;

  private Visit(Connection connection, Ticker ticker) {
    this.connection = connection;
    this.ticker = ticker;
  }

  /**
   * Connects.
   *
   * @param source opens connections to the lock database as the coordinator's own role
   * @param deadline the longest that a statement may last
   * @param ticker the clock of {@link Observation#startedNanos}
   */
  public static Visit open(ConnectionSource source, Duration deadline, Ticker ticker)
      throws SQLException {
    Connection connection = source.open();
    try {
      connection.setNetworkTimeout(Runnable::run, Math.toIntExact(deadline.toMillis()));
      try (PreparedStatement settings = connection.prepareStatement(Statements.SETTINGS)) {
        settings.setString(1, "pgsteward visit");
        settings.setString(2, deadline.toMillis() * 9 / 10 + "ms");
        settings.setString(3, deadline.toMillis() / 2 + "ms");
        settings.setString(4, "0");
        settings.execute();
      }
      return new Visit(connection, ticker);
    } catch (SQLException | RuntimeException e) {
      try {
        connection.close();
      } catch (SQLException suppressed) {
        e.addSuppressed(suppressed);
      }
      throw e;
    }
  }

  /** The server's major version. */
  public int version() throws SQLException {
    return connection.getMetaData().getDatabaseMajorVersion();
  }

  /** Looks at the server once, its roles included. */
  public Observation observe() throws SQLException {
    Observation look;
    long started = ticker.nanos();
    try (PreparedStatement statement = connection.prepareStatement(Statements.OBSERVE);
        ResultSet rows = statement.executeQuery()) {
      look = read(started, rows);
    }
    return look.with(RoleLimits.over(connection).look(ticker));
  }

  /** What {@link Statements#OBSERVE} gave. */
  static Observation read(long started, ResultSet rows) throws SQLException {
    ServerLimits serverLimits = new ServerLimits(0, 0, 0);
    int ownPid = 0;
    boolean complete = false;
    List<Backend> backends = new ArrayList<>();
    while (rows.next()) {
      if (backends.isEmpty()) {
        serverLimits = new ServerLimits(rows.getInt(1), rows.getInt(2), rows.getInt(3));
        ownPid = rows.getInt(4);
        complete = rows.getBoolean(5);
      }
      backends.add(
          new Backend(rows.getInt(6), rows.getString(7), rows.getString(8), rows.getBoolean(9)));
    }
    return new Observation(started, serverLimits, backends, ownPid, complete);
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
