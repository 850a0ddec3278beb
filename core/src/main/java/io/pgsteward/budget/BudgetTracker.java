package io.pgsteward.budget;

import org.jspecify.annotations.Nullable;

/**
 * Follows the budget of one instance from look to look. Time is an argument. Not thread-safe.
 *
 * <p>More foreign connections, or lower limits, act at once; fewer act when the peak leaves the
 * window. Between two looks, so also while looks fail, the budget stays as it is. In the first
 * window, and in the one after a gap longer than a window, it does not grow for any reason: what
 * happened in the unseen time may still come to light.
 */
public final class BudgetTracker {

  private final int margin;
  private final ForeignPeak peak = new ForeignPeak();
  private @Nullable Budget budget;
  private long fullWindowNanos;

  /**
   * @param margin connections to keep free; at least 0
   */
  public BudgetTracker(int margin) {
    if (margin < 0) {
      throw new IllegalArgumentException("the margin is at least 0, but it was " + margin);
    }
    this.margin = margin;
  }

  /** The budget as of the last good look, or null before the first. */
  public @Nullable Budget budget() {
    return budget;
  }

  /**
   * Takes in a good look at the server.
   *
   * @param nowNanos when the look began; not before the one before it
   * @param limits the server's settings
   * @param foreign client connections that belong to no managed role
   * @return the budget from now on
   */
  public Budget observed(long nowNanos, ServerLimits limits, int foreign) {
    Budget before = budget;
    if (before == null || peak.isGap(nowNanos)) {
      fullWindowNanos = nowNanos + ForeignPeak.WINDOW_NANOS;
    }
    Budget open = new Budget(limits, peak.observe(nowNanos, foreign), margin, 0);
    int heldBack = 0;
    if (before != null && nowNanos - fullWindowNanos <= 0) {
      heldBack = Math.max(0, open.total() - before.total());
    }
    Budget now = heldBack == 0 ? open : new Budget(limits, open.foreignPeak(), margin, heldBack);
    budget = now;
    return now;
  }
}
