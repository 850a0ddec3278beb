package io.pgsteward.jdbc.internal.session;

/**
 * The time for which the last answer is believed. Immutable.
 *
 * @param serial grows with each renewal, so that what was concluded from the end of one lease is
 *     not held against the next
 * @param sent when the request was sent whose answer was applied last
 * @param nanos length of the lease; 0 for the one before the first answer, which has ended
 */
record Lease(long serial, Moment sent, long nanos) {

  boolean endedAt(Moment now) {
    return leftNanos(now) == 0;
  }

  /** What is left of it; 0 when it has ended. */
  long leftNanos(Moment now) {
    return Math.max(0, nanos - now.since(sent));
  }
}
