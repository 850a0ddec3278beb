package io.pgsteward.allocation;

import io.pgsteward.model.MemberId;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Splits a tenant's slots over its members: max-min on their demands with equal weights, then what
 * they keep while nobody wants it. A pure function; thread-safe.
 *
 * <p>Ties are those of {@link Filling}: members keep what they have where that costs nobody more
 * than the max-min share, and leftover slots rotate by waiting time.
 *
 * <p>Migration from one member to another is bounded to a quarter of the slots per call (rounded
 * up): after each call the members report, and the next call sees what became of it, so a balance
 * that is off by everything is reached in at most four calls and one that overshoots is not carried
 * out in full. Free slots, and slots that the tenant lost, do not count as migration: they move at
 * once. The first to receive are members with the fewest slots, the first to give those with the
 * most.
 */
public final class MemberSplit {

  /** One part of how many of the slots may migrate in one call. */
  private static final int PART = 4;

  private final long minimumResidenceNanos;

  /**
   * @param minimumResidenceNanos as that of {@link Allocator}; at least 1
   */
  public MemberSplit(long minimumResidenceNanos) {
    if (minimumResidenceNanos < 1) {
      throw new IllegalArgumentException(
          "the minimum residence is at least 1 ns, but it was " + minimumResidenceNanos);
    }
    this.minimumResidenceNanos = minimumResidenceNanos;
  }

  /**
   * What one member wants and has of one tenant. Immutable.
   *
   * @param member who claims; the last tie-break
   * @param demand slots it could use now
   * @param current slots granted to it now
   * @param kept what it holds and may keep while nobody wants it
   * @param waitedNanos as in {@link Claim}, for this member's grant; 0 = it does not wait
   * @param residedNanos since its last slot came; {@link Long#MAX_VALUE} when it holds none
   */
  public record MemberClaim(
      MemberId member, int demand, int current, int kept, long waitedNanos, long residedNanos) {

    public MemberClaim {
      if (demand < 0 || current < 0 || kept < 0 || waitedNanos < 0 || residedNanos < 0) {
        throw new IllegalArgumentException(
            "no figure of a claim is negative, but "
                + member
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
  }

  /**
   * Splits the slots.
   *
   * @param slots the tenant's slots; 0 or more
   * @param claims one claim for each member, in any order
   * @return slots of each claim, in the order of the claims; their sum is at most {@code slots}
   * @throws IllegalArgumentException if {@code slots} is negative or a member claims twice
   */
  public int[] split(int slots, List<MemberClaim> claims) {
    if (slots < 0) {
      throw new IllegalArgumentException("slots are at least 0, but they were " + slots);
    }
    int[] order = memberOrder(claims);
    Filling filling = filling(claims, order);
    int size = order.length;
    int[] current = new int[size];
    int[] demand = new int[size];
    int[] kept = new int[size];
    for (int i = 0; i < size; i++) {
      MemberClaim claim = claims.get(order[i]);
      current[i] = claim.current();
      demand[i] = claim.demand();
      kept[i] = claim.kept();
    }
    int left = filling.fill(slots, demand);
    filling.countFromHere();
    filling.fill(left, kept);
    int[] target = filling.taken();
    int[] bounded = withinTheBound(slots, target, current, demand, filling(claims, order));
    int[] inClaimOrder = new int[size];
    for (int i = 0; i < size; i++) {
      inClaimOrder[order[i]] = bounded[i];
    }
    return inClaimOrder;
  }

  /** The step towards the target that moves no more slots between members than one call may. */
  private static int[] withinTheBound(
      int slots, int[] target, int[] current, int[] demand, Filling step) {
    int size = target.length;
    long raises = 0;
    long granted = 0;
    int[] wanted = new int[size];
    for (int i = 0; i < size; i++) {
      raises += Math.max(0, target[i] - current[i]);
      granted += current[i];
      step.taken()[i] = Math.min(target[i], current[i]);
      wanted[i] = Math.min(current[i], demand[i]);
    }
    long free = Math.max(0, slots - granted);
    long migrating = raises - free;
    int bound = (int) ((slots + (long) PART - 1) / PART);
    if (migrating <= bound) {
      return target;
    }
    step.fill((int) free + bound, target);
    int staying = step.fill((int) (migrating - bound), wanted);
    step.fill(staying, current);
    return step.taken();
  }

  private Filling filling(List<MemberClaim> claims, int[] order) {
    Filling filling = new Filling(order.length, minimumResidenceNanos);
    for (int i = 0; i < order.length; i++) {
      MemberClaim claim = claims.get(order[i]);
      filling.put(i, 1, claim.current(), claim.kept(), claim.waitedNanos(), claim.residedNanos());
    }
    return filling;
  }

  private static int[] memberOrder(List<MemberClaim> claims) {
    Integer[] order = new Integer[claims.size()];
    for (int i = 0; i < order.length; i++) {
      order[i] = i;
    }
    Arrays.sort(order, Comparator.comparing(i -> claims.get(i).member()));
    int[] indices = new int[order.length];
    for (int i = 0; i < order.length; i++) {
      indices[i] = order[i];
      if (i > 0 && claims.get(order[i]).member().equals(claims.get(order[i - 1]).member())) {
        throw new IllegalArgumentException(claims.get(order[i]).member() + " claims twice");
      }
    }
    return indices;
  }
}
