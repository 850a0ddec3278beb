package io.pgsteward.jdbc.internal.pool;

/**
 * The life of a slot. At most one physical connection per slot is alive at any time, and its state
 * is the accounting: {@link #OPENING}, the three open states and {@link #CLOSING} each count as one
 * connection that may exist.
 */
enum SlotState {
  /** No connection; nothing of it can exist at PostgreSQL. */
  EMPTY,
  /** A connection is being opened and set up, or waits to be tried again. */
  OPENING,
  /** The connection is open and nobody has it. */
  IDLE,
  /** The connection, or the right to fetch it from HikariCP, belongs to one borrower. */
  IN_USE,
  /** The connection is open, but HikariCP itself has it for the moment, to test it. */
  CHECKING,
  /** The connection is being closed and its backend was not yet seen to exit. */
  CLOSING,
  /** The slot was given up together with its HikariCP pool and is never used again. */
  DROPPED;

  /** Whether a slot may go from this state to that one. */
  boolean mayBecome(SlotState next) {
    if (this == IDLE) {
      return next == IN_USE || next == CLOSING;
    }
    if (this == IN_USE) {
      return next == IDLE || next == CHECKING || next == CLOSING;
    }
    if (this == EMPTY) {
      return next == OPENING || next == DROPPED;
    }
    if (this == OPENING) {
      return next == IDLE || next == IN_USE || next == CLOSING || next == EMPTY;
    }
    if (this == CHECKING) {
      return next == IDLE || next == CLOSING;
    }
    return this == CLOSING && next == EMPTY;
  }

  /** Whether a connection is open: idle, in use or being tested. */
  boolean isOpen() {
    return this == IDLE || this == IN_USE || this == CHECKING;
  }
}
