package io.pgsteward.allocation;

import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import java.util.ArrayList;
import java.util.List;

/**
 * Tenants with a demand that never ends, allocated round after round in virtual time, each result
 * becoming the grants of the next round.
 */
final class Rounds {

  static final long RESIDENCE = 1_000_000_000L;

  private final Allocator allocator = new Allocator(RESIDENCE);
  private final List<TenantId> tenants = new ArrayList<>();
  private final List<TenantPolicy> policies = new ArrayList<>();
  private final List<Integer> demands = new ArrayList<>();
  private final List<SlotClock> clocks = new ArrayList<>();
  private int[] granted = new int[0];
  private long now;

  void add(TenantId tenant, TenantPolicy policy, int demand) {
    tenants.add(tenant);
    policies.add(policy);
    demands.add(demand);
    clocks.add(new SlotClock());
    granted = new int[tenants.size()];
  }

  /** Runs one round {@code nanos} after the last one. The answer is in the order of adding. */
  int[] next(int budget, long nanos) {
    now += nanos;
    List<Claim> claims = new ArrayList<>(tenants.size());
    for (int i = 0; i < tenants.size(); i++) {
      SlotClock clock = clocks.get(i);
      clock.note(granted[i], demands.get(i), now - nanos);
      claims.add(
          new Claim(
              tenants.get(i),
              policies.get(i),
              demands.get(i),
              granted[i],
              granted[i],
              clock.waitedNanos(now),
              clock.residedNanos(now)));
    }
    granted = allocator.allocate(budget, claims).slots();
    for (int i = 0; i < tenants.size(); i++) {
      clocks.get(i).note(granted[i], demands.get(i), now);
    }
    return granted;
  }
}
