package io.pgsteward.budget;

import java.util.ArrayDeque;

/**
 * The most foreign connections seen over a sliding window. A sample exactly as old as the window
 * still counts. Time is an argument. Not thread-safe.
 *
 * <p>After a gap longer than the window nothing is known about it, so what counted before the gap
 * counts on, as if it had been seen at its end.
 */
public final class ForeignPeak {

  /** Length of the window: 60 s. */
  public static final long WINDOW_NANOS = 60_000_000_000L;

  private record Sample(long nanos, int count) {}

  /** Counts that fall with time: each is above all younger ones, so the first is the peak. */
  private final ArrayDeque<Sample> falling = new ArrayDeque<>();

  private long lastNanos;

  /**
   * Takes in a sample.
   *
   * @param nowNanos when it was taken; not before the sample before it
   * @param count foreign connections
   * @return the peak of the window that ends now
   */
  public int observe(long nowNanos, int count) {
    if (count < 0) {
      throw new IllegalArgumentException("a count is at least 0, but it was " + count);
    }
    int before = peak();
    if (isGap(nowNanos)) {
      falling.clear();
      falling.add(new Sample(nowNanos, before));
    }
    while (!falling.isEmpty() && nowNanos - falling.getFirst().nanos > WINDOW_NANOS) {
      falling.removeFirst();
    }
    while (!falling.isEmpty() && falling.getLast().count <= count) {
      falling.removeLast();
    }
    falling.add(new Sample(nowNanos, count));
    lastNanos = nowNanos;
    return peak();
  }

  /** Whether the sample before a sample taken now would be out of its window. */
  boolean isGap(long nowNanos) {
    return !falling.isEmpty() && nowNanos - lastNanos > WINDOW_NANOS;
  }

  /** The peak as of the last sample; 0 before the first. */
  public int peak() {
    return falling.isEmpty() ? 0 : falling.getFirst().count;
  }
}
