package io.pgsteward.model;

/**
 * A monotonic clock. The only source of time for the coordinator, the ledger, the sessions and the
 * pools, so that each of them runs under virtual time in tests.
 *
 * <p>Two readings are compared by their difference ({@code a - b < 0}); a reading alone has no
 * meaning and readings of two machines are never compared. Implementations are thread-safe.
 */
@FunctionalInterface
public interface Ticker {

  /** Nanoseconds since some fixed moment. Never goes back. */
  long nanos();

  /** The monotonic clock of this JVM. */
  static Ticker system() {
    return System::nanoTime;
  }
}
