package io.pgsteward.testing;

import java.util.ArrayList;
import java.util.List;

/**
 * The budget in force over time, from looks at it. Not thread-safe.
 *
 * <p>Between two looks the larger of the two is taken to be in force: a rise may have happened
 * right after the look before, a fall right before the look that shows it.
 */
public final class BudgetTimeline {

  /**
   * From this moment on.
   *
   * @param millis wall-clock time
   */
  public record Entry(long millis, int budget) {}

  private final List<Entry> entries = new ArrayList<>();
  private long lastLook = Long.MIN_VALUE;

  /** A look at the budget. Looks come in the order of time. */
  public BudgetTimeline seen(long millis, int budget) {
    if (millis < lastLook) {
      throw new IllegalArgumentException("looks at the budget come in the order of time");
    }
    if (entries.isEmpty()) {
      entries.add(new Entry(millis, budget));
    } else {
      int last = entries.get(entries.size() - 1).budget();
      if (budget > last) {
        entries.add(new Entry(lastLook, budget));
      } else if (budget < last) {
        entries.add(new Entry(millis, budget));
      }
    }
    lastLook = millis;
    return this;
  }

  /** The changes in the order of time; before the first nothing is known. */
  public List<Entry> entries() {
    return List.copyOf(entries);
  }
}
