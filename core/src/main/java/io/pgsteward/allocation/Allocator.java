package io.pgsteward.allocation;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Divides a budget over tenants: a pure function of the budget and the claims. Thread-safe.
 *
 * <p>Three fillings over one remaining budget, each weighted max-min ({@link Filling} has the
 * formula and the ties): every claim up to its floor = min(guarantee, demand, max); then up to its
 * ceiling = min(demand, max); then up to what it keeps while nobody wants it. So a guarantee does
 * not count in the surplus, and an idle slot goes to whoever wants it first.
 *
 * <p>Below the sum of floors they are filled by weight, and the unmet part is in the answer. The
 * result does not depend on the order of the claims, and stays as it is when nothing changed and
 * nobody has waited for a minimum residence.
 *
 * <p>O((claims + slots) log claims). Claims that come in the order of their tenants save a sort.
 */
public final class Allocator {

  private static final Comparator<Claim> BY_TENANT = Comparator.comparing(Claim::tenant);

  private final long minimumResidenceNanos;

  /**
   * @param minimumResidenceNanos for how long a slot that came stays, against rotation (not against
   *     guarantees or a shrinking budget), and how long a tenant waits for its turn; at least 1
   */
  public Allocator(long minimumResidenceNanos) {
    if (minimumResidenceNanos < 1) {
      throw new IllegalArgumentException(
          "the minimum residence is at least 1 ns, but it was " + minimumResidenceNanos);
    }
    this.minimumResidenceNanos = minimumResidenceNanos;
  }

  /**
   * Divides the budget.
   *
   * @param budget slots to give out in all; 0 gives nothing
   * @param claims one claim for each tenant, in any order
   * @throws IllegalArgumentException if the budget is negative or a tenant claims twice
   */
  public Allocation allocate(int budget, List<Claim> claims) {
    if (budget < 0) {
      throw new IllegalArgumentException("a budget is at least 0, but it was " + budget);
    }
    List<Claim> given = List.copyOf(claims);
    Claim[] ordered = inTenantOrder(given);
    int size = ordered.length;
    Filling filling = new Filling(size, minimumResidenceNanos);
    int[] floor = new int[size];
    int[] ceiling = new int[size];
    int[] kept = new int[size];
    for (int i = 0; i < size; i++) {
      Claim claim = ordered[i];
      floor[i] = claim.floor();
      ceiling[i] = claim.ceiling();
      kept[i] = Math.min(claim.kept(), claim.policy().max());
      filling.put(
          i,
          claim.policy().weight(),
          claim.current(),
          claim.kept(),
          claim.waitedNanos(),
          claim.residedNanos());
    }
    int left = filling.fill(budget, floor);
    int[] unmet = new int[size];
    for (int i = 0; i < size; i++) {
      unmet[i] = floor[i] - filling.taken()[i];
    }
    filling.countFromHere();
    left = filling.fill(left, ceiling);
    filling.countFromHere();
    filling.fill(left, kept);
    return new Allocation(given, ordered, filling.taken(), unmet);
  }

  private static Claim[] inTenantOrder(List<Claim> claims) {
    Claim[] ordered = claims.toArray(new Claim[0]);
    Arrays.sort(ordered, BY_TENANT);
    for (int i = 1; i < ordered.length; i++) {
      if (ordered[i].tenant().equals(ordered[i - 1].tenant())) {
        throw new IllegalArgumentException(ordered[i].tenant() + " claims twice");
      }
    }
    return ordered;
  }
}
