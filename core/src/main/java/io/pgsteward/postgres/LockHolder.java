package io.pgsteward.postgres;

import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * Another session that holds the leader's lock. Immutable.
 *
 * @param pid its backend
 * @param database where it holds the lock; null if that database is gone
 * @param here whether that is the database of this session
 * @param role as whom it has logged in
 * @param ours whether this session has logged in as the same role
 * @param applicationName how it calls itself
 * @param client its client's address, or why it is not known
 */
record LockHolder(
    int pid,
    @Nullable String database,
    boolean here,
    String role,
    boolean ours,
    String applicationName,
    String client) {

  private static final String OBJECT_IN_USE = "55006";

  /** Reads a row of {@link Statements#OTHER_HOLDERS}. */
  static LockHolder read(ResultSet row) throws SQLException {
    return new LockHolder(
        row.getInt(1),
        row.getString(2),
        row.getBoolean(3),
        row.getString(4),
        row.getBoolean(5),
        row.getString(6),
        row.getString(7));
  }

  /** Its name if it calls itself a coordinator, or null. */
  @Nullable SessionName name() {
    return SessionName.parse(applicationName);
  }

  /** Why a coordinator of that name cannot lead while this one holds the lock. */
  SQLException refusal(SessionName own) {
    SessionName name = name();
    String reachable = name == null ? null : name.reachable();
    if (!ours && reachable != null) {
      return new SQLException(
          "a coordinator at "
              + reachable
              + " leads; an application sets coordinator=http://"
              + reachable
              + ", a second coordinator logs in with the role of the first ("
              + who()
              + "; if that is none of yours, end it with pg_terminate_backend)",
          OBJECT_IN_USE);
    }
    if (!ours) {
      return new SQLException(
          "the leader's lock is held by a role that is not the coordinator's ("
              + who()
              + ", database "
              + database
              + "), so this one cannot lead. If that is another application's coordinator=local, run"
              + " one coordinator for all of them; if it is neither a coordinator nor an application"
              + " of yours, find out what it is and end it with pg_terminate_backend",
          OBJECT_IN_USE);
    }
    if (!here) {
      return new SQLException(
          "another coordinator holds the leader's lock in database "
              + database
              + " ("
              + who()
              + "), but this one is configured with another lock database; all coordinators of one"
              + " server must connect to the same database",
          OBJECT_IN_USE);
    }
    String address = name == null ? client : name.address();
    boolean same = name == null || name.hash().equals(own.hash());
    return new LeadershipHeldException(
        "the coordinator at "
            + address
            + " leads ("
            + who()
            + ")"
            + (name == null || same
                ? ""
                : "; it runs with another configuration" + differs(name, own)),
        address,
        reachable,
        same);
  }

  /** Why a coordinator does not take over from one that is gone and had another configuration. */
  static LeadershipHeldException gone(SessionName last, SessionName own) {
    return new LeadershipHeldException(
        "the coordinator at "
            + last.address()
            + " leads no more, but it ran with another configuration"
            + differs(last, own)
            + ", so this one does not take over; start it again if its configuration is the right"
            + " one",
        last.address(),
        null,
        false);
  }

  private static String differs(SessionName other, SessionName own) {
    return " (hash "
        + other.hash()
        + " at "
        + other.address()
        + ", "
        + own.hash()
        + " here at "
        + own.address()
        + "): managed and foreign roles, margin and enforce must be the same in both";
  }

  private String who() {
    return "pid "
        + pid
        + ", role "
        + role
        + ", address "
        + client
        + ", application_name \""
        + applicationName
        + "\"";
  }
}
