package io.pgsteward.jdbc.internal.pool;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The maximum of a level over a sliding window of about one second, and whether the coordinator has
 * been told of it. Pure: time comes in.
 *
 * <p>The window is kept in {@value #PARTS} parts. {@link #raise} belongs to the part that is being
 * filled and needs no clock, so it can stand on the hot path; whoever knows the time calls {@link
 * #at}. A level counts for at least {@link #WINDOW_NANOS} after it was last seen and for at most
 * one part more, plus the time for which nobody called {@link #at}.
 *
 * <p>Thread-safety: {@link #raise} may be called by any thread; the rest is called under the gate's
 * lock.
 */
final class DemandMeter {

  /** How long a level counts. */
  static final long WINDOW_NANOS = 1_000_000_000L;

  private static final int PARTS = 5;
  private static final long PART_NANOS = WINDOW_NANOS / (PARTS - 1);

  private final int[] peaks = new int[PARTS];
  private final AtomicInteger filling = new AtomicInteger();
  private int part;
  private long partSince;
  private int told;
  private boolean called;

  DemandMeter(long now) {
    partSince = now;
  }

  /**
   * The level has been reached in the part that is being filled.
   *
   * @return whether it is the highest of this part so far
   */
  boolean raise(int level) {
    return level > filling.get() && filling.accumulateAndGet(level, Math::max) == level;
  }

  /**
   * The maximum over the window.
   *
   * @param now the time
   * @param level the level now
   */
  int at(long now, int level) {
    raise(level);
    long parts = (now - partSince) / PART_NANOS;
    if (parts > 0) {
      partSince += parts * PART_NANOS;
      peaks[part] = filling.get();
      for (long i = 1; i <= Math.min(parts, PARTS); i++) {
        part = (part + 1) % PARTS;
        peaks[part] = level;
      }
      filling.set(level);
    }
    int peak = filling.get();
    for (int i = 0; i < PARTS; i++) {
      if (i != part) {
        peak = Math.max(peak, peaks[i]);
      }
    }
    return peak;
  }

  /** The coordinator has been told this demand. */
  void told(int demand) {
    told = demand;
    called = false;
  }

  /** Whether the coordinator must hear now that demand is so high; true once until it is told. */
  boolean mustTell(int demand) {
    if (demand <= told || called) {
      return false;
    }
    called = true;
    return true;
  }
}
