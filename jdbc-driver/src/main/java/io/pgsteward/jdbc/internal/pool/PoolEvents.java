package io.pgsteward.jdbc.internal.pool;

import java.sql.SQLException;

/**
 * What a pool tells its owner. Called outside of every lock, but for {@link #limitFromEmpty}, by
 * the thread that caused the event; implementations return at once and throw nothing.
 */
public interface PoolEvents {

  /** Tells nobody. */
  PoolEvents NONE = new PoolEvents() {};

  /**
   * Demand is above what the last {@link TenantPool#report} said: a thread has to wait, or more
   * connections are in use. Called once between two reports.
   */
  default void demandRose() {}

  /** A connection's backend is gone and the pool holds one physical connection less. */
  default void slotReleased() {}

  /**
   * A thread waits, the pool holds no connection and is about to open one: the moment at which a
   * grant may turn out to be lost (rule S7), since the pool may have slept, or been empty, past the
   * end of the lease. Asked under the pool's lock, so the implementation takes none.
   *
   * @param limit what the pool goes by
   * @return what it goes by from now on; at most {@code limit}
   */
  default int limitFromEmpty(int limit) {
    return limit;
  }

  /**
   * A connection was opened.
   *
   * @param pid its backend; 0 when unknown
   * @param nanos how long opening took
   */
  default void opened(int pid, long nanos) {}

  /**
   * A connection is closed and its backend gone.
   *
   * @param pid its backend; 0 when unknown
   */
  default void closed(int pid) {}

  /**
   * A close was not confirmed within the close timeout; the connection stays {@code closing}.
   *
   * @param pid its backend; 0 when unknown
   */
  default void closeUnconfirmed(int pid) {}

  /** An opening failed; 53300 included. */
  default void openFailed(SQLException failure) {}

  /**
   * A connection was handed to a thread that had to wait. The others took no measurable time and
   * are only counted.
   */
  default void borrowed(long waitNanos) {}

  /** A borrower's deadline passed. */
  default void timedOut(long waitNanos) {}
}
