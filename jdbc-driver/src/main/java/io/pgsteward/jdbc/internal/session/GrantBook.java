package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import java.util.HashMap;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a member may hold for each tenant, from the answers it has had and the time that has passed:
 * rules S7 and S8 of the design as a value. Pure: time comes in, limits come out. Not thread-safe.
 *
 * <p>Which limit a tenant goes by:
 *
 * <ul>
 *   <li>JOINING: 0 until the first exchange has failed or has taken too long, then {@code
 *       fallbackSlots}. A coordinator that works answers first, so that a start with a coordinator
 *       opens nothing that was not granted.
 *   <li>GRANTED by a SERVING coordinator: exactly the grant, 0 included.
 *   <li>GRANTED, the coordinator LEARNING: what it had (a learning coordinator takes nothing), what
 *       was answered, or {@code fallbackSlots}, whichever is most. A tenant that is refused has
 *       nothing at once: its configuration alone decides that, and a learning coordinator knows it.
 *   <li>FALLBACK, from the end of the lease: the larger of the last grant and {@code
 *       fallbackSlots}; a tenant that had no connection at any moment since has lost its grant.
 * </ul>
 *
 * The process's own cap bounds all of them.
 */
final class GrantBook {

  /** What became of an answer. */
  enum Outcome {
    /** Newer than what was applied: the grants are its. */
    APPLIED,
    /**
     * The same epoch and generation: the lease is renewed, nothing else changed. Two such answers
     * are applied all the same: one that ends LEARNING, and the first after a FALLBACK, which gives
     * back grants that were lost.
     */
    RENEWED,
    /** Arrived more than one lease after its request was sent: neither grants nor renews. */
    LATE,
    /** Older than what was applied: neither grants nor renews. */
    OLDER
  }

  private final Map<TenantId, Tenant> tenants = new TreeMap<>();
  private final Moment start;
  private final long defaultLeaseNanos;
  private Lease lease;
  private MemberPhase phase = MemberPhase.JOINING;
  private boolean aloneWhileJoining;
  private long epoch;
  private long generation;
  private @Nullable CoordinatorPhase coordinatorPhase;
  private int budget = -1;
  private int granted = -1;

  GrantBook(Moment start, long defaultLeaseNanos) {
    this.start = start;
    this.defaultLeaseNanos = defaultLeaseNanos;
    this.lease = new Lease(0, start, 0);
  }

  /**
   * A tenant that the member may hold slots for from now on. Known tenants keep their grant.
   *
   * @param cap the most that this process wants to hold
   */
  void register(TenantId tenant, int fallbackSlots, int cap) {
    Tenant known = tenants.get(tenant);
    if (known == null) {
      tenants.put(tenant, new Tenant(fallbackSlots, cap));
    } else {
      known.fallbackSlots = fallbackSlots;
      known.cap = cap;
      known.retired = false;
    }
  }

  /**
   * A tenant that no longer has a pool. It is forgotten once it has no grant either: until an
   * answer has taken the grant back, the coordinator counts it and the report names it.
   */
  void retire(TenantId tenant) {
    Tenant known = tenants.get(tenant);
    if (known != null) {
      known.retired = true;
      known.fallbackSlots = 0;
      known.refused = null;
      forgetWhatIsGone();
    }
  }

  private void forgetWhatIsGone() {
    tenants.values().removeIf(tenant -> tenant.retired && tenant.grant == 0);
  }

  /**
   * An answer has come.
   *
   * @param sent when its request was sent
   * @param now when it arrived
   */
  Outcome answered(SyncResponse answer, Moment sent, Moment now) {
    long leaseNanos = TimeUnit.MILLISECONDS.toNanos(answer.leaseMillis());
    if (now.since(sent) > leaseNanos) {
      return Outcome.LATE;
    }
    boolean equal = answer.epoch() == epoch && answer.generation() == generation;
    boolean newer =
        answer.epoch() > epoch || (answer.epoch() == epoch && answer.generation() > generation);
    if (!equal && !newer) {
      return Outcome.OLDER;
    }
    boolean learned =
        equal
            && coordinatorPhase == CoordinatorPhase.LEARNING
            && answer.phase() == CoordinatorPhase.SERVING;
    boolean found = equal && phase == MemberPhase.FALLBACK;
    boolean applies = newer || learned || found;
    lease = new Lease(lease.serial() + 1, sent, leaseNanos);
    phase = MemberPhase.GRANTED;
    budget = answer.budget();
    granted = answer.granted();
    Map<String, TenantGrant> grants = new HashMap<>();
    answer.tenants().forEach(grant -> grants.put(grant.tenant(), grant));
    for (Map.Entry<TenantId, Tenant> entry : tenants.entrySet()) {
      TenantGrant grant = grants.get(entry.getKey().toString());
      if (applies) {
        entry.getValue().apply(grant, answer.phase());
      }
      entry.getValue().describe(grant);
    }
    epoch = answer.epoch();
    generation = answer.generation();
    coordinatorPhase = answer.phase();
    forgetWhatIsGone();
    return applies ? Outcome.APPLIED : Outcome.RENEWED;
  }

  /** The first exchange failed, or has taken longer than a borrower should wait for it. */
  void firstExchangeFailed() {
    if (phase == MemberPhase.JOINING) {
      aloneWhileJoining = true;
    }
  }

  /**
   * How long until limits change by time alone: by the end of the lease, or of the wait to join.
   *
   * @param joinGraceNanos how long a joining member waits for its first answer
   */
  long changesIn(Moment now, long joinGraceNanos) {
    return switch (phase) {
      case GRANTED -> lease.leftNanos(now);
      case JOINING ->
          aloneWhileJoining ? Pacing.NEVER : Math.max(0, joinGraceNanos - now.since(start));
      case FALLBACK, CLOSED -> Pacing.NEVER;
    };
  }

  /**
   * Whether the next report must be answered at once: without a lease in force, or when half of it
   * has passed. Calls that are given up for newer figures bring no answer. Without one the lease
   * ends though both sides are well, and a coordinator that is silent is never found out.
   */
  boolean needsAnswer(Moment now) {
    return phase != MemberPhase.GRANTED || lease.leftNanos(now) < lease.nanos() / 2;
  }

  /**
   * Takes the grant of each tenant that holds nothing now, after the end of the lease.
   *
   * @return whether any was lost
   */
  boolean losesGrants(List<TenantFigures> figures) {
    boolean lost = false;
    if (phase == MemberPhase.FALLBACK) {
      for (TenantFigures of : figures) {
        if (of.held() == 0) {
          lost |= emptied(of.tenant(), lease.serial());
        }
      }
    }
    return lost;
  }

  /**
   * Time has passed.
   *
   * @return whether the lease ended with it, so that limits may have changed
   */
  boolean passed(Moment now) {
    if (phase == MemberPhase.GRANTED && lease.endedAt(now)) {
      phase = MemberPhase.FALLBACK;
      return true;
    }
    return false;
  }

  /**
   * At some moment after the end of the lease with this serial the tenant had no connection, none
   * being opened either: its grant is lost. Without effect if the lease was renewed since.
   *
   * @return whether this changed the limit
   */
  boolean emptied(TenantId tenant, long leaseSerial) {
    Tenant known = tenants.get(tenant);
    if (known == null || leaseSerial != lease.serial() || phase != MemberPhase.FALLBACK) {
      return false;
    }
    int before = limit(known);
    known.grant = 0;
    boolean changed = limit(known) != before;
    forgetWhatIsGone();
    return changed;
  }

  void closed() {
    phase = MemberPhase.CLOSED;
  }

  /** The limit that the tenant goes by now; 0 for one that is not registered. */
  int limit(TenantId tenant) {
    Tenant known = tenants.get(tenant);
    return known == null ? 0 : limit(known);
  }

  private int limit(Tenant tenant) {
    int free =
        switch (phase) {
          case JOINING -> aloneWhileJoining ? tenant.fallbackSlots : 0;
          case GRANTED ->
              coordinatorPhase == CoordinatorPhase.SERVING || tenant.refused != null
                  ? tenant.grant
                  : Math.max(tenant.grant, tenant.fallbackSlots);
          case FALLBACK -> Math.max(tenant.grant, tenant.fallbackSlots);
          case CLOSED -> 0;
        };
    return Math.min(free, tenant.cap);
  }

  /** What the tenants go by while no answer comes, in words for the log. */
  String goingBy() {
    if (epoch > 0) {
      return "connections go on within the last grant";
    }
    IntSummaryStatistics slots =
        tenants.values().stream()
            .filter(tenant -> !tenant.retired)
            .mapToInt(tenant -> tenant.fallbackSlots)
            .summaryStatistics();
    if (slots.getCount() == 0) {
      return "until it answers each tenant has its fallbackSlots";
    }
    return "until it answers each tenant has fallbackSlots="
        + slots.getMin()
        + (slots.getMin() == slots.getMax() ? "" : " to " + slots.getMax());
  }

  /** Every registered tenant with its limit. */
  Map<TenantId, Integer> limits() {
    Map<TenantId, Integer> limits = new TreeMap<>();
    tenants.forEach((tenant, entry) -> limits.put(tenant, limit(entry)));
    return limits;
  }

  /** Every tenant that the coordinator refuses, with its reason. */
  Map<TenantId, String> refusals() {
    Map<TenantId, String> refusals = new TreeMap<>();
    tenants.forEach(
        (tenant, entry) -> {
          if (entry.refused != null) {
            refusals.put(tenant, entry.refused);
          }
        });
    return refusals;
  }

  CoordinatorView.@Nullable Tenant view(TenantId tenant) {
    Tenant known = tenants.get(tenant);
    return known == null
        ? null
        : new CoordinatorView.Tenant(
            limit(known),
            known.grant,
            known.fallbackSlots,
            known.refused,
            known.tenantGranted,
            known.tenantMax);
  }

  Lease lease() {
    return lease;
  }

  /** Length of the lease; the default before the first answer. */
  long leaseNanos() {
    return lease.nanos() == 0 ? defaultLeaseNanos : lease.nanos();
  }

  MemberPhase phase() {
    return phase;
  }

  long epoch() {
    return epoch;
  }

  long generation() {
    return generation;
  }

  @Nullable CoordinatorPhase coordinatorPhase() {
    return coordinatorPhase;
  }

  int budget() {
    return budget;
  }

  int granted() {
    return granted;
  }

  /** One tenant's line in the book. */
  private static final class Tenant {
    private int fallbackSlots;
    private int cap;
    private boolean retired;
    private int grant;
    private @Nullable String refused;
    private int tenantGranted = -1;
    private @Nullable Integer tenantMax;

    Tenant(int fallbackSlots, int cap) {
      this.fallbackSlots = fallbackSlots;
      this.cap = cap;
    }

    void apply(@Nullable TenantGrant answered, CoordinatorPhase by) {
      int slots = answered == null ? 0 : answered.grant();
      boolean exact =
          by == CoordinatorPhase.SERVING || (answered != null && answered.refused() != null);
      grant = exact ? slots : Math.max(grant, slots);
    }

    void describe(@Nullable TenantGrant answered) {
      if (answered == null) {
        return;
      }
      tenantGranted = answered.tenantGranted();
      tenantMax = answered.tenantMax();
      refused = answered.refused();
    }
  }
}
