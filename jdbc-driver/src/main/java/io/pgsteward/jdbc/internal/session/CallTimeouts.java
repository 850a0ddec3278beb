package io.pgsteward.jdbc.internal.session;

import java.time.Duration;

/**
 * How long one call may take. Immutable.
 *
 * @param read from the request to its answer: a third of the lease, and the park time if it may be
 *     parked, so that a coordinator that answers in time is heard, and a silent one is given up
 *     before the lease ends
 * @param connect to reach the coordinator: at most a third of the lease
 */
record CallTimeouts(Duration read, Duration connect) {

  private static final long LONGEST_CONNECT_NANOS = Duration.ofSeconds(2).toNanos();

  /**
   * @param parkNanos the longest parking; 0 for a report that is answered at once
   * @param leftNanos what is left in all; {@link Long#MAX_VALUE} for no bound
   */
  static CallTimeouts of(long leaseNanos, long parkNanos, long leftNanos) {
    long third = leaseNanos / 3;
    long read = Math.max(1, Math.min(parkNanos + third, leftNanos));
    long connect = Math.min(Math.min(third, read), LONGEST_CONNECT_NANOS);
    return new CallTimeouts(Duration.ofNanos(read), Duration.ofNanos(connect));
  }
}
