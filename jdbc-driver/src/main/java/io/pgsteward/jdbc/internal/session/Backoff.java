package io.pgsteward.jdbc.internal.session;

import java.util.function.DoubleSupplier;

/**
 * How long to wait after the n-th failure in a row: doubling from a first delay up to a cap, with
 * "equal jitter" (half fixed, half random), so that members that lost their coordinator in one
 * moment do not come back in one moment. Not thread-safe.
 */
final class Backoff {

  private final long firstNanos;
  private final DoubleSupplier random;
  private int failures;

  /**
   * @param firstNanos upper bound of the first delay; above 0
   * @param random numbers from 0 (included) to 1
   */
  Backoff(long firstNanos, DoubleSupplier random) {
    if (firstNanos <= 0) {
      throw new IllegalArgumentException("the first delay is above 0, but it was " + firstNanos);
    }
    this.firstNanos = firstNanos;
    this.random = random;
  }

  /**
   * Counts one more failure.
   *
   * @param capNanos the longest delay, a third of the lease
   * @return nanoseconds to wait before the next try: between half of the doubled delay and all of
   *     it, at most {@code capNanos}
   */
  long failed(long capNanos) {
    long delay = firstNanos;
    for (int i = 0; i < failures && delay < capNanos; i++) {
      delay = delay > Long.MAX_VALUE / 2 ? Long.MAX_VALUE : delay * 2;
    }
    failures++;
    delay = Math.min(delay, Math.max(1, capNanos));
    long half = delay / 2;
    return delay - half + (long) (half * random.getAsDouble());
  }

  /** The next failure is a first one again. */
  void succeeded() {
    failures = 0;
  }
}
