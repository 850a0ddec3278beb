package io.pgsteward.jdbc.internal.pool;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;

/** Asks PostgreSQL which backends are no more. */
final class BackendCheck {

  /** How long the answer may take: the connection may lead into the same black hole. */
  private static final int ANSWER_MILLIS = 2_000;

  private BackendCheck() {}

  /**
   * Those of the process ids that PostgreSQL does not show. Every role sees all ids.
   *
   * @param connection to the same server; idle, in auto-commit or not
   */
  static Set<Integer> gone(Connection connection, Collection<Integer> pids) throws SQLException {
    Set<Integer> gone = new HashSet<>(pids);
    connection.setNetworkTimeout(Runnable::run, ANSWER_MILLIS);
    String list = pids.stream().map(String::valueOf).collect(Collectors.joining(", "));
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "select pid from pg_catalog.pg_stat_activity where pid in (" + list + ")")) {
      while (rows.next()) {
        gone.remove(rows.getInt(1));
      }
    }
    return gone;
  }
}
