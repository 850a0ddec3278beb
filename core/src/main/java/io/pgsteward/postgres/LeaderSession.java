package io.pgsteward.postgres;

import java.sql.SQLException;
import java.util.Map;

/**
 * The one session that a coordinator has on an instance. It holds the leader's lock, so whoever can
 * run a statement on it leads. The seam to the database: tests put a simulated server here.
 *
 * <p>Blocking, each call with its own deadline; used by one thread, except {@link #close}.
 */
public interface LeaderSession extends AutoCloseable {

  /**
   * Connects, takes the leader's lock and starts a new term. An earlier connection of this object
   * is closed first, but one that found the lock held stays and asks again: a coordinator that
   * stands by takes one place on the server all the time, and has it when it is to take over.
   *
   * <p>From a leader with another configuration nothing is taken over, also when it is gone.
   *
   * @return the epoch: larger than that of every earlier term on this server
   * @throws LeadershipHeldException if another session holds the lock, or the last one that held it
   *     ran with another configuration; it names the holder
   * @throws SQLException if PostgreSQL cannot be asked
   */
  long lead() throws SQLException;

  /**
   * Looks at the server once.
   *
   * @throws SQLException if the look failed. If {@link #isLeading} is false afterwards the lock is
   *     lost and {@link #lead} must be called again
   */
  Observation observe() throws SQLException;

  /**
   * Sets connection limits in that order, in one transaction, and so proves that this session
   * leads.
   *
   * @param limits by role; -1 for none
   * @throws SQLException if nothing was changed, or nobody knows; the next look shows which. If
   *     {@link #isLeading} is false afterwards the lock is lost
   */
  void setLimits(Map<String, Integer> limits) throws SQLException;

  /** Whether the session that holds the lock was alive at its last statement. */
  boolean isLeading();

  /** Gives the lock back and closes the connection. Never throws; idempotent; any thread. */
  @Override
  void close();
}
