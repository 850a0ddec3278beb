package io.pgsteward.jdbc;

import java.sql.SQLException;
import java.time.Duration;

/**
 * Is told what happens in a tenant's pool. Every method does nothing unless overridden.
 *
 * <p>Calls come from whatever thread caused them, several at a time, and never under a lock of
 * ours; {@link #waitedFor} comes from the borrower itself, so it has to be quick. What a method
 * throws is logged and goes no further.
 */
public interface PgStewardListener {

  /**
   * A connection was handed to a thread that had to wait for it. Those that found one free are only
   * counted, in {@link TenantSnapshot.Counters#borrowed}.
   */
  default void waitedFor(String tenant, Duration wait) {}

  /** A borrower got no connection because a limit was full. */
  default void noSlot(NoSlotException why) {}

  /**
   * A physical connection was opened.
   *
   * @param pid process id of its backend, as the driver sees it
   */
  default void connectionOpened(String tenant, int pid, Duration took) {}

  /** A physical connection was closed and its backend has exited. */
  default void connectionClosed(String tenant, int pid) {}

  /** A physical connection could not be opened. */
  default void openFailed(String tenant, SQLException why) {}
}
