package io.pgsteward.postgres;

import io.pgsteward.model.Ticker;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The leader's session on a real PostgreSQL, 13 to 18.
 *
 * <p>The lock is a session-level advisory lock in the database of the connection. It goes away with
 * the session, and {@code idle_session_timeout} (PostgreSQL 14 and later) ends a session whose
 * coordinator was stopped, below the lease: {@link #observe} must come more often than every two
 * thirds of the lease. {@code application_name} is {@code pgsteward <address> <hash>}, by which
 * other coordinators learn who leads and whether it runs with the same configuration.
 *
 * <p>Every statement ends within a third of the lease, by {@code statement_timeout} where the
 * server lives and by the network timeout where it does not.
 *
 * <p>Used by one thread, except {@link #close} and {@link #isLeading}. {@code this} guards which
 * connection is in use; no statement is sent under it.
 */
public final class PostgresLeaderSession implements LeaderSession {

  private static final String OBJECT_IN_USE = "55006";

  private static final int FORMER_TRIES = 20;
  private static final long FORMER_PAUSE_MILLIS = 50;

  private final ConnectionSource source;
  private final SessionName name;
  private final Ticker ticker;
  private final long deadlineMillis;
  private final long idleMillis;
  private final boolean enforces;

  private @Nullable Connection connection;
  private @Nullable PreparedStatement observe;
  private @Nullable RoleLimits limits;
  private boolean closed;
  private int leaderPid;
  private @Nullable SessionName otherConfiguration; // of the last holder; touched by lead() alone
  private volatile boolean leading;

  /**
   * @param source opens connections to the lock database, each as the coordinator's own role
   * @param address where this coordinator is reached, for members and people; no white space
   * @param configHash a short hash of what two coordinators of one instance must agree on; no white
   *     space
   * @param lease time for which a member is believed alive without being heard
   * @param ticker the clock of {@link Observation#startedNanos}
   * @param enforces whether looks show the roles too
   */
  public PostgresLeaderSession(
      ConnectionSource source,
      String address,
      String configHash,
      Duration lease,
      Ticker ticker,
      boolean enforces) {
    this.source = source;
    this.name = SessionName.of(address, configHash);
    this.ticker = ticker;
    this.enforces = enforces;
    this.deadlineMillis = Math.max(100, lease.toMillis() / 3);
    this.idleMillis = Math.max(100, lease.toMillis() * 2 / 3);
  }

  @Override
  public long lead() throws SQLException {
    refuseIfClosed();
    Connection session = waiting();
    try {
      if (session == null) {
        end();
        session = source.open();
        prepare(session);
      }
      take(session);
      long epoch = begin(session);
      adopt(session);
      return epoch;
    } catch (LeadershipHeldException e) {
      await(session);
      throw e;
    } catch (SQLException | RuntimeException e) {
      closeAfter(session, e);
      throw e;
    }
  }

  /** Takes the connection that found the lock held out of the field, or gives null. */
  private synchronized @Nullable Connection waiting() {
    if (leading || observe != null) {
      return null;
    }
    Connection session = connection;
    connection = null;
    return session;
  }

  private void await(@Nullable Connection session) {
    synchronized (this) {
      if (!closed) {
        connection = session;
        return;
      }
    }
    closeAfter(session, null);
  }

  private void prepare(Connection fresh) throws SQLException {
    fresh.setAutoCommit(true);
    fresh.setNetworkTimeout(Runnable::run, Math.toIntExact(deadlineMillis));
    int version = fresh.getMetaData().getDatabaseMajorVersion();
    if (version < 13) {
      throw new SQLException(
          "PostgreSQL 13 or later is needed, but the server is version " + version, "0A000");
    }
    applySettings(fresh);
  }

  private void take(Connection session) throws SQLException {
    if (otherConfiguration != null) {
      refuseOtherHolders(session);
      throw LockHolder.gone(otherConfiguration, name);
    }
    boolean taken = takeLock(session);
    for (int tries = 0; !taken && tries < FORMER_TRIES && endFormer(session); tries++) {
      pause();
      taken = takeLock(session);
    }
    refuseOtherHolders(session);
    if (!taken && !takeLock(session)) {
      throw new SQLTransientConnectionException(
          "the leader's lock was held a moment ago and its holder is gone; try again",
          OBJECT_IN_USE);
    }
  }

  private static boolean takeLock(Connection fresh) throws SQLException {
    try (PreparedStatement statement = fresh.prepareStatement(Statements.TAKE_LOCK)) {
      statement.setLong(1, Statements.LOCK_KEY);
      try (ResultSet row = statement.executeQuery()) {
        row.next();
        return row.getBoolean(1);
      }
    }
  }

  /** Ends this object's earlier session if it holds the lock still; gives whether it did. */
  private boolean endFormer(Connection fresh) throws SQLException {
    try (PreparedStatement statement = fresh.prepareStatement(Statements.END_FORMER)) {
      setKey(statement);
      statement.setInt(3, leaderPid);
      statement.setString(4, name.toString());
      try (ResultSet row = statement.executeQuery()) {
        return row.next();
      }
    }
  }

  private static void pause() throws SQLException {
    try {
      TimeUnit.MILLISECONDS.sleep(FORMER_PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SQLException("interrupted while the former session ends", e);
    }
  }

  private static void setKey(PreparedStatement statement) throws SQLException {
    statement.setLong(1, Statements.LOCK_KEY >>> 32);
    statement.setLong(2, Statements.LOCK_KEY & 0xffff_ffffL);
  }

  private void applySettings(Connection fresh) throws SQLException {
    try (PreparedStatement statement = fresh.prepareStatement(Statements.SETTINGS)) {
      statement.setString(1, name.toString());
      statement.setString(2, deadlineMillis * 9 / 10 + "ms");
      statement.setString(3, deadlineMillis / 2 + "ms");
      statement.setString(4, idleMillis + "ms");
      try (ResultSet row = statement.executeQuery()) {
        row.next();
        if (row.getBoolean(7)) {
          throw new SQLException(
              "the server is a standby (in recovery); a coordinator leads on the primary", "25006");
        }
      }
    }
  }

  private void refuseOtherHolders(Connection fresh) throws SQLException {
    try (PreparedStatement statement = fresh.prepareStatement(Statements.OTHER_HOLDERS)) {
      setKey(statement);
      try (ResultSet row = statement.executeQuery()) {
        if (row.next()) {
          LockHolder holder = LockHolder.read(row);
          SessionName other = holder.name();
          boolean same = other == null || other.hash().equals(name.hash());
          otherConfiguration = same ? null : other;
          throw holder.refusal(name);
        }
      }
    }
  }

  private long begin(Connection fresh) throws SQLException {
    try (PreparedStatement statement = fresh.prepareStatement(Statements.EPOCH);
        ResultSet row = statement.executeQuery()) {
      row.next();
      leaderPid = row.getInt(2);
      return row.getLong(1);
    }
  }

  private void adopt(Connection fresh) throws SQLException {
    PreparedStatement statement = fresh.prepareStatement(Statements.OBSERVE);
    RoleLimits roleLimits = enforces ? RoleLimits.over(fresh) : null;
    synchronized (this) {
      refuseIfClosed();
      connection = fresh;
      observe = statement;
      limits = roleLimits;
      leading = true;
    }
  }

  private synchronized void refuseIfClosed() throws SQLException {
    if (closed) {
      throw new SQLException("the leader's session was closed", "08003");
    }
  }

  @Override
  public Observation observe() throws SQLException {
    PreparedStatement statement;
    RoleLimits roles;
    synchronized (this) {
      statement = observe;
      roles = limits;
    }
    if (statement == null) {
      throw notConnected();
    }
    try {
      long started = ticker.nanos();
      Observation look;
      try (ResultSet rows = statement.executeQuery()) {
        look = read(started, rows);
      }
      return roles == null ? look : look.with(roles.look(ticker));
    } catch (SQLException e) {
      endIfLost(statement, e);
      throw e;
    }
  }

  @Override
  public void setLimits(Map<String, Integer> changes) throws SQLException {
    PreparedStatement statement;
    RoleLimits roles;
    synchronized (this) {
      statement = observe;
      roles = limits;
    }
    if (statement == null || roles == null) {
      throw notConnected();
    }
    try {
      roles.set(changes);
    } catch (SQLException e) {
      endIfLost(statement, e);
      throw e;
    }
  }

  /**
   * Puts the limits back that roles had before the first change, and forgets them.
   *
   * @return what was put back, by role; -1 for no limit
   * @throws SQLException if nothing was changed, or nobody knows
   */
  public Map<String, Integer> releaseLimits() throws SQLException {
    RoleLimits roles;
    synchronized (this) {
      roles = limits;
    }
    if (roles == null) {
      throw notConnected();
    }
    return roles.releaseAll();
  }

  private static SQLException notConnected() {
    return new SQLException("the leader's session is not connected", "08003");
  }

  private void endIfLost(PreparedStatement statement, SQLException failure) {
    if (isLost(statement, failure)) {
      end();
    }
  }

  private Observation read(long started, ResultSet rows) throws SQLException {
    Observation look = Visit.read(started, rows);
    if (look.ownPid() != leaderPid) {
      end();
      throw new SQLException(
          "the statement ran on backend "
              + look.ownPid()
              + " but the leader's lock was taken on backend "
              + leaderPid
              + ": a pooler stands between the coordinator and PostgreSQL; connect without it",
          "08006");
    }
    return look;
  }

  /** Whether the session is gone: the driver closed it, or the server said that it ends it. */
  private static boolean isLost(PreparedStatement statement, SQLException failure) {
    String state = failure.getSQLState() == null ? "" : failure.getSQLState();
    try {
      return state.startsWith("08")
          || state.startsWith("57P")
          || statement.isClosed()
          || statement.getConnection().isClosed();
    } catch (SQLException e) {
      failure.addSuppressed(e);
      return true;
    }
  }

  @Override
  public boolean isLeading() {
    return leading;
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    end();
  }

  /** Closes the connection, and with it the lock. Whoever takes it out of the field closes it. */
  private void end() {
    Connection old;
    synchronized (this) {
      leading = false;
      old = connection;
      connection = null;
      observe = null;
      limits = null;
    }
    closeAfter(old, null);
  }

  /** A failure to close is no news of its own: the session is given up either way. */
  private static void closeAfter(@Nullable Connection old, @Nullable Exception failure) {
    if (old == null) {
      return;
    }
    try {
      old.close();
    } catch (SQLException e) {
      if (failure != null) {
        failure.addSuppressed(e);
      }
    }
  }
}
