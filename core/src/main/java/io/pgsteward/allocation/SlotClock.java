package io.pgsteward.allocation;

/**
 * Measures, for one tenant or one member of a tenant, how long it has waited and how long its last
 * slot has been there: the two durations of {@link Claim} and {@link MemberSplit.MemberClaim}. Time
 * is an argument. Not thread-safe.
 *
 * <p>Any change of the grant starts the wait again: whoever just had a turn, or was just lowered,
 * goes to the end of the queue.
 */
public final class SlotClock {

  private int granted;
  private boolean waits;
  private long waitsSince;
  private long lastCame;

  /**
   * Takes note of the state from {@code nowNanos} on.
   *
   * @param granted slots granted now
   * @param demand slots it could use now
   */
  public void note(int granted, int demand, long nowNanos) {
    if (granted > this.granted) {
      lastCame = nowNanos;
    }
    boolean waitsNow = demand > granted;
    if (waitsNow && (!waits || granted != this.granted)) {
      waitsSince = nowNanos;
    }
    waits = waitsNow;
    this.granted = granted;
  }

  /** How long it has waited for one more slot; 0 when it does not wait. */
  public long waitedNanos(long nowNanos) {
    return waits ? Math.max(0, nowNanos - waitsSince) : 0;
  }

  /** How long ago its last slot came; {@link Long#MAX_VALUE} when it has none. */
  public long residedNanos(long nowNanos) {
    return granted == 0 ? Long.MAX_VALUE : Math.max(0, nowNanos - lastCame);
  }
}
