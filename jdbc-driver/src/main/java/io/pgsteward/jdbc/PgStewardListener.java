package io.pgsteward.jdbc;

import java.sql.SQLException;
import java.time.Duration;

/**
 * Is told what happens in a tenant's pool. Every method does nothing unless overridden.
 *
 * <p>Calls come from whatever thread caused them, several at a time, and never under a lock of
 * ours; {@link #borrowed} comes from the borrower itself, so it has to be quick. What a method
 * throws is logged and goes no further.
 */
public interface PgStewardListener {

  /** The process may hold another number of connections from now on. */
  default void limitChanged(String tenant, int before, int now) {}

  /** A connection was handed to the application after that wait. */
  default void borrowed(String tenant, Duration waited) {}

  /** A borrower got no connection because a limit was full. */
  default void noSlot(NoSlotException why) {}

  /**
   * A physical connection was opened.
   *
   * @param pid process id of its backend, as the driver sees it
   */
  default void connectionOpened(String tenant, int pid, Duration took) {}

  /** A physical connection was closed. */
  default void connectionClosed(String tenant, int pid) {}

  /** A physical connection could not be opened. */
  default void openFailed(String tenant, SQLException why) {}
}
