package io.pgsteward.jdbc.internal.pool;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Why a thread did not get a connection. Immutable. */
public sealed interface BorrowFailure {

  /**
   * No slot came before the deadline.
   *
   * @param waitedNanos how long the thread waited
   * @param usage the pool at that moment, the thread no longer counted as waiting
   * @param lastOpenFailure why the last opening failed, or null if the last one succeeded
   * @param callerHoldsConnection whether the thread holds a connection of the same tenant: with
   *     every slot held by such threads none of them can go on
   */
  record TimedOut(
      long waitedNanos,
      PoolUsage usage,
      @Nullable SQLException lastOpenFailure,
      boolean callerHoldsConnection)
      implements BorrowFailure {}

  /** The pool was closed before or while the thread waited. */
  record Closed() implements BorrowFailure {}

  /**
   * The coordinator will never grant this tenant anything under its present configuration.
   *
   * @param reason the coordinator's words
   */
  record Refused(String reason) implements BorrowFailure {}

  /**
   * Opening a connection fails for a reason that time does not heal, such as a wrong password, and
   * no open connection could come back.
   *
   * @param cause what PostgreSQL or pgjdbc said
   */
  record OpenFailed(SQLException cause) implements BorrowFailure {}

  /**
   * The thread was interrupted while it waited. Its interrupt flag is set again.
   *
   * @param waitedNanos how long it had waited
   */
  record Interrupted(long waitedNanos) implements BorrowFailure {}

  /**
   * As many threads wait already as may wait.
   *
   * @param usage the pool at that moment
   * @param maxWaiters how many may wait
   */
  record TooManyWaiters(PoolUsage usage, int maxWaiters) implements BorrowFailure {}
}
