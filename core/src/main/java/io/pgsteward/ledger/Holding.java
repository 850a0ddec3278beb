package io.pgsteward.ledger;

import io.pgsteward.allocation.SlotClock;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What one member was granted for one tenant, and what it may still hold.
 *
 * <p>Two numbers carry the accounting. {@link #grant} is what the member was last told. {@link
 * #counted} is what it may hold at worst and so what counts against the budget. A raise counts at
 * once. A lowering takes {@code counted} down only by proof, in two steps: a report measured under
 * the lowered grant says how much is left, and a look at PostgreSQL that began after that report
 * arrived shows no backend beyond it. Between the two the slot belongs to nobody (rule S3).
 *
 * <p>A silent member proves nothing. Where PostgreSQL keeps its role to a limit, it counts at what
 * is shown of it ({@link #shrink}, rule S6): whatever else it opens takes a place under that limit,
 * which counts by itself. What it may hold by its grants alone is kept, and counts again with its
 * next report, or when the limit is no longer there.
 *
 * <p>Not thread-safe: owned by a {@link Ledger}.
 */
public final class Holding {

  /** A reported bound that waits for a look at PostgreSQL which began later than it arrived. */
  private record Proof(long arrivedNanos, int bound) {}

  /** Proofs kept while a look is under way; more are merged, which only delays a release. */
  private static final int MOST_PROOFS = 8;

  /** {@link #shown} of a member that is heard, or that no role limit bounds. */
  private static final int NOT_SHRUNK = Integer.MAX_VALUE;

  private int grant;
  private int counted;
  private int shown = NOT_SHRUNK;
  private long loweredGeneration;
  private Report report = Report.NOTHING;
  private final Set<Integer> pids = new HashSet<>();
  private final Deque<Proof> proofs = new ArrayDeque<>();
  private final SlotClock clock = new SlotClock();

  private List<Integer> gone = List.of();
  private boolean contradicted;
  private long reportedNanos;
  private long surplusSinceNanos;
  private boolean hasSurplus;

  Holding(long nowNanos) {
    reportedNanos = nowNanos;
  }

  /** Slots that the member was last told it may hold. */
  public int grant() {
    return grant;
  }

  /** Slots that it may hold at worst, beyond which its role's limit counts; at least its grant. */
  public int counted() {
    return Math.min(counted, shown);
  }

  /**
   * Slots that it may hold by its grants alone, whatever its role's limit: at least what counts.
   */
  int byGrants() {
    return counted;
  }

  /**
   * A silent member whose role is kept to a limit counts at what a look shows of it, until it is
   * heard again or {@link #unshrink} (rule S6). The caller lowers the grant first.
   *
   * @param slots what the look shows of it; above what it may hold by its grants it counts as that
   */
  void shrink(int slots) {
    if (slots < grant) {
      throw new IllegalArgumentException("granted " + grant + " but shown " + slots);
    }
    shown = slots;
  }

  /** It is heard, or no limit bounds it: it counts at what it may hold by its grants. */
  void unshrink() {
    shown = NOT_SHRUNK;
  }

  /** Its last accepted report. */
  public Report report() {
    return report;
  }

  /** Whether a release waits for a look at PostgreSQL. */
  public boolean awaitsProof() {
    return !proofs.isEmpty() && !contradicted;
  }

  /** Whether the last look showed more than its report did, so that only a later look can tell. */
  public boolean isContradicted() {
    return contradicted;
  }

  /** Process ids of its last report that a later look no longer showed, ascending. */
  public List<Integer> gone() {
    return gone;
  }

  /**
   * A look that began after the last report shows these of its process ids no more.
   *
   * @return whether that is news
   */
  boolean showGone(long startedNanos, List<Integer> pids) {
    if (startedNanos - reportedNanos < 0 || pids.equals(gone)) {
      return false;
    }
    gone = pids;
    return true;
  }

  /** Backends that it reported and that PostgreSQL has not yet shown gone. */
  Set<Integer> pids() {
    return pids;
  }

  /** Whether nothing is known of it any more, so that it can be dropped. */
  boolean isEmpty() {
    return counted == 0 && report.equals(Report.NOTHING);
  }

  /** For how long it has waited for a slot, and how long its last one has been there. */
  public SlotClock clock() {
    return clock;
  }

  void grant(int slots, long generation, long nowNanos) {
    if (slots > grant) {
      counted = Math.max(counted, slots);
    } else if (slots < grant) {
      loweredGeneration = generation;
      proofs.clear();
    }
    grant = slots;
    noteDemand(nowNanos);
  }

  /**
   * Takes over what a member without a record here says it goes by: nobody may lose a connection by
   * a restart of the coordinator (rule S8).
   */
  void adopt(Report news, long nowNanos) {
    grant = Math.max(grant, news.goesBy());
    counted = Math.max(counted, news.bound());
    accept(news, nowNanos);
  }

  /**
   * Takes in a report.
   *
   * @param generation the generation that it names, or -1 if it names another epoch and so can
   *     prove nothing
   */
  void report(Report news, long generation, long nowNanos) {
    // A member in fallback may go by more than its grant.
    counted = Math.max(counted, news.bound());
    accept(news, nowNanos);
    if (generation < loweredGeneration || counted <= Math.max(grant, news.bound())) {
      return;
    }
    contradicted = false;
    if (proofs.size() == MOST_PROOFS) {
      proofs.removeLast();
    }
    proofs.addLast(new Proof(nowNanos, news.bound()));
  }

  /** A leaving member opens nothing more, so what it holds is all it can hold. */
  void reportLeaving(Report news, long nowNanos) {
    Report last = new Report(0, 0, 0, news.opening(), news.held(), news.pids());
    report(last, Long.MAX_VALUE, nowNanos);
  }

  private void accept(Report news, long nowNanos) {
    report = news;
    unshrink();
    reportedNanos = nowNanos;
    gone = List.of();
    pids.addAll(news.pids());
    noteDemand(nowNanos);
  }

  private void noteDemand(long nowNanos) {
    clock.note(grant, report.demand(), nowNanos);
    boolean wantsLess = report.demand() < grant;
    if (wantsLess && !hasSurplus) {
      surplusSinceNanos = nowNanos;
    }
    hasSurplus = wantsLess;
  }

  /**
   * Says what it keeps while nobody else wants the slots, and begins the next round of giving back
   * if it is time: all of its grant for {@code idleHold} after it last had demand for it, then a
   * quarter of the surplus less in each round (rule L4: no cliff). A second call within a round
   * therefore answers the whole grant again.
   *
   * @return slots of its grant that it keeps after this call
   */
  public int keepNext(long nowNanos, long idleHoldNanos, long roundNanos) {
    if (!hasSurplus || nowNanos - surplusSinceNanos < idleHoldNanos) {
      return grant;
    }
    surplusSinceNanos = nowNanos - idleHoldNanos + roundNanos;
    int surplus = grant - report.demand();
    return grant - (surplus + 3) / 4;
  }

  /**
   * Takes in a look at PostgreSQL.
   *
   * @param startedNanos when it began
   * @param lingering how many backends it showed that this member once reported and that its last
   *     report no longer names
   */
  void observed(long startedNanos, int lingering) {
    boolean laterThanReport = startedNanos - reportedNanos >= 0;
    int left = laterThanReport ? report.held() + lingering : report.bound();
    int bound = -1;
    while (!proofs.isEmpty() && startedNanos - proofs.peekFirst().arrivedNanos() >= 0) {
      bound = proofs.removeFirst().bound();
    }
    if (bound >= 0) {
      counted = Math.min(counted, Math.max(Math.max(grant, bound), Math.max(report.bound(), left)));
    }
    counted = Math.max(counted, left);
    contradicted = laterThanReport && lingering > 0 && counted > Math.max(grant, report.bound());
    if (contradicted) {
      proofs.addLast(new Proof(startedNanos, report.bound()));
    }
  }

  /** A silent member of which PostgreSQL shows nothing holds nothing (rule S6). */
  void release(long nowNanos) {
    grant = 0;
    counted = 0;
    unshrink();
    contradicted = false;
    report = Report.NOTHING;
    pids.clear();
    proofs.clear();
    noteDemand(nowNanos);
  }

  /** Whether PostgreSQL and the reports leave room for backends that nobody has reported yet. */
  int room(int claimedAlive) {
    return Math.max(0, counted() - claimedAlive);
  }

  void checkInvariants() {
    if (grant < 0 || counted() < grant) {
      throw new IllegalStateException("granted " + grant + " but counted " + counted());
    }
  }
}
