package io.pgsteward.allocation;

/**
 * Weighted max-min in whole slots, the engine of {@link Allocator} and {@link MemberSplit}. Not
 * thread-safe; made for one computation.
 *
 * <p><b>Shares.</b> Each slot goes to the claim with the smallest (taken in this filling + 1) /
 * weight that is below its limit, compared exactly by cross multiplication: a count fits 31 bits
 * and a weight 20, so a product fits 64.
 *
 * <p><b>Ties.</b> A claim that was granted its next slot already is a <em>holder</em> of it, else
 * it <em>waits</em> for it. In order: holders inside their minimum residence, claims that have
 * waited past their turn, other holders, other claims that wait. Among holders the one whose
 * residence began last keeps; among the waiting the one that has waited longest is next. Then comes
 * whoever still has a connection for the slot, then the index.
 *
 * <p>A claim has waited past its turn for its n-th slot after n residences, not after one: the
 * fewer slots a claim has, the more one of them means to it. So a single slot changes hands every
 * residence, while the odd slot of 101 between two claims moves every 51 residences.
 *
 * <p><b>First slots.</b> Max-min alone would never serve a claim of weight 1 beside two of weight 3
 * on 2 slots. A claim without a slot that has waited residence x (sum of weights) / (slots x its
 * weight), at least one residence, therefore takes its first slot before max-min begins, and keeps
 * it for a minimum residence. That time is what its fair share of the slots amounts to when it is
 * below one: with share s &lt; 1 it should hold a slot for one residence in about 1/s. Leaving the
 * number of slots out would let the wait grow with the number of tenants although the slots grow
 * too: 25 hours instead of 15 minutes for one tenant of weight 1 among 30,000 of weight 3 on 100
 * slots.
 */
final class Filling {

  private static final int HOLDS_AND_STAYS = 0;
  private static final int WAITED_PAST_ITS_TURN = 1;
  private static final int HOLDS = 2;
  private static final int WAITS = 3;

  private final long residence;
  private final int size;
  private final int[] weight;
  private final int[] current;
  private final int[] kept;
  private final long[] waited;
  private final long[] resided;
  private final int[] base;
  private final int[] taken;

  Filling(int size, long residence) {
    this.size = size;
    this.residence = residence;
    this.weight = new int[size];
    this.current = new int[size];
    this.kept = new int[size];
    this.waited = new long[size];
    this.resided = new long[size];
    this.base = new int[size];
    this.taken = new int[size];
  }

  void put(int i, int weight, int current, int kept, long waited, long resided) {
    this.weight[i] = weight;
    this.current[i] = current;
    this.kept[i] = kept;
    this.waited[i] = waited;
    this.resided[i] = resided;
  }

  /** The slots of each claim so far; the live array. */
  int[] taken() {
    return taken;
  }

  /** Begins a new filling: what was taken before does not count in its shares. */
  void countFromHere() {
    System.arraycopy(taken, 0, base, 0, size);
  }

  /**
   * Gives out slots until there are none or every claim has reached its limit.
   *
   * @param slots how many there are
   * @param limit up to where each claim takes; one below what it has takes nothing away
   * @return the slots left
   */
  int fill(int slots, int[] limit) {
    long wanted = 0;
    long weights = 0;
    int open = 0;
    for (int i = 0; i < size; i++) {
      if (taken[i] < limit[i]) {
        wanted += limit[i] - taken[i];
        weights += weight[i];
        open++;
      }
    }
    if (wanted <= slots) {
      for (int i = 0; i < size; i++) {
        taken[i] = Math.max(taken[i], limit[i]);
      }
      return slots - (int) wanted;
    }
    int left = giveFirstSlots(slots, weights, limit);
    if (left > 0) {
      giveByShare(left, open, limit);
    }
    return 0;
  }

  private int giveFirstSlots(int slots, long weights, int[] limit) {
    IntHeap staying = new IntHeap(size, this::residesLess);
    IntHeap starved = new IntHeap(size, this::isMoreStarved);
    for (int i = 0; i < size; i++) {
      if (taken[i] == 0 && limit[i] > 0) {
        if (current[i] > 0 && resided[i] < residence) {
          staying.append(i);
        } else if (current[i] == 0 && isStarved(i, slots, weights)) {
          starved.append(i);
        }
      }
    }
    return giveOneEach(giveOneEach(slots, staying), starved);
  }

  private boolean isStarved(int i, int slots, long weights) {
    return waited[i] >= residence
        && compareProducts(waited[i], (long) slots * weight[i], residence, weights) >= 0;
  }

  private int giveOneEach(int slots, IntHeap order) {
    order.arrange();
    int left = slots;
    while (left > 0 && !order.isEmpty()) {
      taken[order.first()]++;
      order.removeFirst();
      left--;
    }
    return left;
  }

  private void giveByShare(int slots, int open, int[] limit) {
    IntHeap next = new IntHeap(open, this::isNext);
    for (int i = 0; i < size; i++) {
      if (taken[i] < limit[i]) {
        next.append(i);
      }
    }
    next.arrange();
    for (int left = slots; left > 0; left--) {
      int i = next.first();
      taken[i]++;
      if (taken[i] < limit[i]) {
        next.firstMovedBack();
      } else {
        next.removeFirst();
      }
    }
  }

  private boolean isNext(int a, int b) {
    long shareOfA = (long) (taken[a] - base[a] + 1) * weight[b];
    long shareOfB = (long) (taken[b] - base[b] + 1) * weight[a];
    if (shareOfA != shareOfB) {
      return shareOfA < shareOfB;
    }
    int rank = rank(a);
    int rankOfB = rank(b);
    if (rank != rankOfB) {
      return rank < rankOfB;
    }
    boolean holds = rank == HOLDS_AND_STAYS || rank == HOLDS;
    if (holds) {
      return residesLess(a, b);
    }
    if (waited[a] != waited[b]) {
      return waited[a] > waited[b];
    }
    boolean hasOne = kept[a] > taken[a];
    if (hasOne != kept[b] > taken[b]) {
      return hasOne;
    }
    return a < b;
  }

  private int rank(int i) {
    int next = taken[i] + 1;
    if (current[i] >= next) {
      return resided[i] < residence ? HOLDS_AND_STAYS : HOLDS;
    }
    boolean past = waited[i] > 0 && compareProducts(waited[i], 1, residence, next) >= 0;
    return past ? WAITED_PAST_ITS_TURN : WAITS;
  }

  private boolean residesLess(int a, int b) {
    return resided[a] != resided[b] ? resided[a] < resided[b] : a < b;
  }

  private boolean isMoreStarved(int a, int b) {
    int order = compareProducts(waited[a], weight[a], waited[b], weight[b]);
    return order != 0 ? order > 0 : a < b;
  }

  /** Compares a x b with c x d, none negative, in 128 bits. */
  private static int compareProducts(long a, long b, long c, long d) {
    int high = Long.compare(Math.multiplyHigh(a, b), Math.multiplyHigh(c, d));
    return high != 0 ? high : Long.compareUnsigned(a * b, c * d);
  }
}
