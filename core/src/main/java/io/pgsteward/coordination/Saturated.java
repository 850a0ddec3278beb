package io.pgsteward.coordination;

/**
 * Sums over members as they are shown, sent and allocated: an int, and at most its largest value.
 * What members report is bounded one by one and not in sum, so sums are longs until here.
 */
final class Saturated {

  private Saturated() {}

  /** The sum, or the largest int if it is larger. */
  static int toInt(long sum) {
    return (int) Math.min(sum, Integer.MAX_VALUE);
  }
}
