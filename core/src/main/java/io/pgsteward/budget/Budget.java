package io.pgsteward.budget;

/**
 * What the whole system may open on an instance, with the parts that it is made of:
 *
 * <pre>
 * total = maxConnections - superuserReserved - reserved - foreignPeak - margin - heldBack
 * </pre>
 *
 * never below 0. Immutable.
 *
 * @param limits the server's settings
 * @param foreignPeak most foreign connections seen in the last 60 s
 * @param margin connections kept free
 * @param heldBack what the parts would allow beyond it, but is not given out before a full window
 *     was observed; 0 in steady running
 */
public record Budget(ServerLimits limits, int foreignPeak, int margin, int heldBack) {

  public Budget {
    if (foreignPeak < 0 || margin < 0 || heldBack < 0) {
      throw new IllegalArgumentException(
          "no part of a budget is negative, but foreignPeak was "
              + foreignPeak
              + ", margin "
              + margin
              + " and heldBack "
              + heldBack);
    }
  }

  /** Slots that there are; 0 or more. */
  public int total() {
    return (int) Math.max(0, room() - heldBack);
  }

  /** By how much the parts pass {@code max_connections}; 0 when they fit. */
  public int deficit() {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(0, -room()));
  }

  private long room() {
    return (long) limits.maxConnections()
        - limits.superuserReserved()
        - limits.reserved()
        - foreignPeak
        - margin;
  }
}
