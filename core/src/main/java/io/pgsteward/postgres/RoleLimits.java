package io.pgsteward.postgres;

import io.pgsteward.model.Ticker;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and changes the connection limits of roles over one connection, which should be in the lock
 * database and hold the leader's lock. What each role had before its first change is kept in the
 * table {@code pgsteward.adopted}, so that {@link #release} can put it back.
 *
 * <p>All changes of one call commit together, or none does. Two changes of one role at the same
 * time fail with XX000: an advisory lock keeps ours apart, and one that met another tool's is tried
 * again. Not thread-safe; needs autocommit on.
 */
public final class RoleLimits {

  private static final String CONCURRENTLY_UPDATED = "XX000";
  private static final int TRIES = 3;

  private final Connection connection;
  private LimitRights rights;

  /** Whether rights can have come since the last look; seen in the same round trip as the roles. */
  private boolean schemaUsable;

  private RoleLimits(Connection connection, LimitRights rights) {
    this.connection = connection;
    this.rights = rights;
  }

  /** Finds out by which right limits can be changed over this connection. */
  public static RoleLimits over(Connection connection) throws SQLException {
    return new RoleLimits(connection, rights(connection));
  }

  private static LimitRights rights(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(Statements.SCHEMA_USABLE)) {
      row.next();
      if (!row.getBoolean(1)) {
        return LimitRights.NONE;
      }
    }
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(Statements.RIGHTS)) {
      row.next();
      if (row.getBoolean(1)) {
        return LimitRights.FUNCTION;
      }
      return row.getBoolean(2) ? LimitRights.CREATEROLE : LimitRights.NONE;
    }
  }

  /** By which right limits are changed. */
  public LimitRights rights() {
    return rights;
  }

  /** Every role that can log in, in the order of the names. */
  public List<LoginRole> roles() throws SQLException {
    String sql =
        switch (rights) {
          case FUNCTION -> Statements.ROLES_BY_FUNCTION;
          case CREATEROLE -> Statements.ROLES_BY_CREATEROLE;
          case NONE -> Statements.ROLES;
        };
    List<LoginRole> roles = new ArrayList<>();
    try (PreparedStatement statement = connection.prepareStatement(sql);
        ResultSet rows = statement.executeQuery()) {
      while (rows.next()) {
        schemaUsable = rights != LimitRights.NONE || rows.getBoolean(5);
        roles.add(
            new LoginRole(
                rows.getString(1), rows.getBoolean(2), rows.getInt(3), rows.getBoolean(4)));
      }
    }
    return roles;
  }

  /** Looks at the roles. Rights that came or went since the last look are noticed. */
  Observation.Roles look(Ticker ticker) throws SQLException {
    List<LoginRole> all;
    try {
      all = roles();
    } catch (SQLException e) {
      refuseUnlessRightsChanged(e);
      all = roles();
    }
    if (rights == LimitRights.NONE && schemaUsable) {
      rights = rights(connection);
      all = roles();
    }
    return new Observation.Roles(all, rights, ticker.nanos());
  }

  private void refuseUnlessRightsChanged(SQLException failure) throws SQLException {
    LimitRights now;
    try {
      now = rights(connection);
    } catch (SQLException e) {
      failure.addSuppressed(e);
      throw failure;
    }
    if (now == rights) {
      throw failure;
    }
    rights = now;
  }

  /** Limits from before the first change, by role, in the order of the names. */
  public Map<String, Integer> adopted() throws SQLException {
    return rights == LimitRights.NONE ? new LinkedHashMap<>() : read(Statements.ADOPTED);
  }

  private Map<String, Integer> read(String sql) throws SQLException {
    Map<String, Integer> limits = new LinkedHashMap<>();
    try (PreparedStatement statement = connection.prepareStatement(sql);
        ResultSet rows = statement.executeQuery()) {
      while (rows.next()) {
        limits.put(rows.getString(1), rows.getInt(2));
      }
    }
    return limits;
  }

  /**
   * Sets limits in that order, in one transaction. A role's limit from before its first change is
   * remembered.
   *
   * @throws SQLException if nothing was changed, or, after a lost connection, if nobody knows
   */
  public void set(Map<String, Integer> limits) throws SQLException {
    if (limits.isEmpty()) {
      return;
    }
    limits.forEach((role, limit) -> new RoleStatement.AlterLimit(role, limit).sql());
    String[] roles = limits.keySet().toArray(new String[0]);
    Integer[] values = limits.values().toArray(new Integer[0]);
    inTransaction(
        () -> {
          if (rights == LimitRights.FUNCTION) {
            call(Statements.SET_BY_FUNCTION, roles, values);
          } else {
            call(Statements.ADOPT, roles);
            alter(limits);
          }
        });
  }

  /**
   * Puts the limits back that these roles had before their first change, and forgets them.
   *
   * @param roles roles of {@link #adopted}; others are left alone
   */
  public void release(List<String> roles) throws SQLException {
    String[] names = roles.toArray(new String[0]);
    inTransaction(
        () -> {
          if (rights == LimitRights.FUNCTION) {
            call(Statements.RELEASE_BY_FUNCTION, names);
          } else {
            Map<String, Integer> old = read(Statements.ADOPTED_BY_PRESENT_ROLES);
            old.keySet().retainAll(roles);
            alter(old);
            call(Statements.FORGET, names);
          }
        });
  }

  /**
   * Does so for every role of {@link #adopted}.
   *
   * @return the limits that were put back; roles that exist no more are forgotten without
   */
  Map<String, Integer> releaseAll() throws SQLException {
    refuseWithoutRights();
    Map<String, Integer> present = read(Statements.ADOPTED_BY_PRESENT_ROLES);
    List<String> all = List.copyOf(adopted().keySet());
    if (!all.isEmpty()) {
      release(all);
    }
    return present;
  }

  private void alter(Map<String, Integer> limits) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (Map.Entry<String, Integer> limit : limits.entrySet()) {
        statement.execute(new RoleStatement.AlterLimit(limit.getKey(), limit.getValue()).sql());
      }
    }
  }

  private void call(String sql, String[] roles, Integer... values) throws SQLException {
    Array names = connection.createArrayOf("name", roles);
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setArray(1, names);
      if (values.length > 0) {
        statement.setArray(2, connection.createArrayOf("int4", values));
      }
      statement.execute();
    } finally {
      names.free();
    }
  }

  @FunctionalInterface
  private interface Change {
    void run() throws SQLException;
  }

  private void inTransaction(Change change) throws SQLException {
    refuseWithoutRights();
    for (int tries = 1; ; tries++) {
      try {
        once(change);
        return;
      } catch (SQLException e) {
        if (tries == TRIES || !CONCURRENTLY_UPDATED.equals(e.getSQLState())) {
          throw e;
        }
      }
    }
  }

  private void refuseWithoutRights() throws SQLException {
    if (rights == LimitRights.NONE) {
      throw new SQLException(
          "the coordinator's role may change no connection limit; setup-sql prints what it needs",
          "42501");
    }
  }

  private void once(Change change) throws SQLException {
    connection.setAutoCommit(false);
    try {
      try (PreparedStatement lock = connection.prepareStatement(Statements.LOCK_LIMITS)) {
        lock.setLong(1, Statements.LIMITS_KEY);
        lock.execute();
      }
      change.run();
      connection.commit();
    } catch (SQLException | RuntimeException e) {
      rollbackAfter(e);
      throw e;
    } finally {
      restoreAutoCommit();
    }
  }

  private void rollbackAfter(Exception failure) {
    try {
      connection.rollback();
    } catch (SQLException e) {
      failure.addSuppressed(e);
    }
  }

  private void restoreAutoCommit() throws SQLException {
    if (!connection.isClosed()) {
      connection.setAutoCommit(true);
    }
  }
}
