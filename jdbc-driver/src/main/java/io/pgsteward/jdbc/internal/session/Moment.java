package io.pgsteward.jdbc.internal.session;

import java.util.concurrent.TimeUnit;

/**
 * One moment on the two clocks of this process. The monotonic clock may stand still while a machine
 * sleeps and the wall clock may be set, so what has elapsed is the larger of the two: a lease then
 * ends early at worst, and never late. Immutable.
 *
 * @param nanos reading of the monotonic clock
 * @param wallMillis reading of the local wall clock; never compared with another machine's
 */
record Moment(long nanos, long wallMillis) {

  /** Nanoseconds from an earlier moment to this one; never negative. */
  long since(Moment earlier) {
    long monotonic = nanos - earlier.nanos;
    long wall = TimeUnit.MILLISECONDS.toNanos(wallMillis - earlier.wallMillis);
    return Math.max(0, Math.max(monotonic, wall));
  }
}
