package io.pgsteward.allocation;

import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;

/**
 * What one tenant wants and has, as the {@link Allocator} sees it. Immutable. {@link SlotClock}
 * measures the two durations.
 *
 * @param tenant who claims; the last tie-break
 * @param policy its guarantee, max and weight
 * @param demand slots it could use now; 0 or more
 * @param current slots granted to it now, over all members
 * @param kept what it holds and may keep while nobody wants it; 0 keeps nothing beyond the demand
 * @param waitedNanos how long its demand has been above what it is granted, counted from the last
 *     change of its grant if that is later; 0 = it does not wait. The restart at each change is
 *     what sends a tenant that had its turn to the end of the queue
 * @param residedNanos since its last slot came; {@link Long#MAX_VALUE} when it holds none or nobody
 *     knows
 */
public record Claim(
    TenantId tenant,
    TenantPolicy policy,
    int demand,
    int current,
    int kept,
    long waitedNanos,
    long residedNanos) {

  public Claim {
    if (demand < 0 || current < 0 || kept < 0 || waitedNanos < 0 || residedNanos < 0) {
      throw new IllegalArgumentException(
          "no figure of a claim is negative, but "
              + tenant
              + " had demand "
              + demand
              + ", current "
              + current
              + ", kept "
              + kept
              + ", waited "
              + waitedNanos
              + " ns, resided "
              + residedNanos
              + " ns");
    }
  }

  /** The most it can use: its demand within its max. */
  public int ceiling() {
    return Math.min(demand, policy.max());
  }

  /** What it is promised now: its guarantee as far as it has demand for it. */
  public int floor() {
    return Math.min(policy.guarantee(), ceiling());
  }
}
