package io.pgsteward.coordination;

import io.pgsteward.budget.Budget;
import io.pgsteward.budget.BudgetTracker;
import io.pgsteward.ledger.Holding;
import io.pgsteward.ledger.Ledger;
import io.pgsteward.ledger.Member;
import io.pgsteward.ledger.Report;
import io.pgsteward.ledger.Snapshot;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator of one instance as a state machine without threads, clock or I/O: reports of
 * members and looks at PostgreSQL come in, grants go out.
 *
 * <p><b>One writer.</b> Not thread-safe. {@link ControlLoop} feeds it from one thread; the
 * simulation feeds it under virtual time. Every call takes the monotonic time of the caller.
 *
 * <p><b>The round.</b> Any number of {@link #sync}, {@link #observed} and {@link
 * #observationFailed} calls, then one {@link #decide}, then {@link #drainChanged} tells whose
 * parked calls are to be answered with {@link #answer}. Deciding once for many events keeps the
 * cost of a storm of reports at one allocation.
 *
 * <p><b>Who may raise.</b> A grant is raised only in a round that a good look at PostgreSQL
 * started, or a change of role limits that committed just after one. That look does three things at
 * once: it proves that the session which holds the leader's lock lives, so that no two coordinators
 * raise; it shows what was let go; and it brings the newest count of foreign connections. {@link
 * #nextLookNanos} asks for such a look at once when a raise is possible or a release waits for its
 * proof. Lowerings need no proof and are written at any time.
 *
 * <p><b>What counts.</b> The {@link Ledger} counts each lowered grant at what it may still hold.
 * The planner gives out only budget - strays - counted. That difference is the whole of rule S1;
 * when it is negative, because the budget shrank or fallback slots passed it, nothing is raised
 * until holdings fit again.
 *
 * <p><b>Phases.</b> STANDBY until {@link #lead}: requests are refused. LEARNING after it: members
 * keep what they go by and nothing is granted, since members of an earlier term may not have been
 * heard (rule S8). It ends after one lease, or sooner when role limits bound whoever was not heard
 * and a look shows connections only of members that were. SERVING afterwards. A lost session does
 * not change the phase: without looks nothing is raised, and members keep their grants. A new term
 * starts LEARNING again, with the ledger kept: it is more than what a restarted process would know.
 *
 * <p><b>Terms.</b> Members ignore answers of an earlier term than the one they go by, so each term
 * is later than all before. PostgreSQL's transaction ids see to that while the server is the same
 * one. A server that was replaced by a backup may give lower ones; then the term is one above the
 * last of this process, and one above any that a member names. A member is believed once a look
 * that began after its report has succeeded: it proves that this coordinator holds the lock, so the
 * term that the member names is over.
 *
 * <p><b>Role limits.</b> The {@link Enforcer} knows which limits are in force. A grant is raised
 * only within its role's limit; what finds no room there asks for a higher limit, and the round
 * after that limit is in force raises the grant (rule S4).
 */
public final class Coordinator {

  /** No server gives transaction ids from here on, and a term above any below still fits. */
  private static final long NO_EPOCH = Long.MAX_VALUE / 2;

  /** How soon to look again when PostgreSQL still shows what a report says is gone. */
  private static final long CONTRADICTED_NANOS = 50_000_000;

  private final CoordinatorSettings settings;
  private final long leaseNanos;
  private final PolicyBook policies;
  private final Ledger ledger;
  private final GrantPlanner planner;
  private final BudgetTracker tracker;
  private final Enforcer enforcer;

  private CoordinatorPhase phase = CoordinatorPhase.STANDBY;
  private @Nullable String leader;
  private @Nullable String leaderAddress;
  private long epoch;
  private long namedEpoch;
  private long namedNanos;
  private boolean namedIsOver;
  private long learnsUntilNanos;
  private boolean learned;
  private @Nullable Budget budget;
  private long lookedNanos;
  private boolean looked;
  private @Nullable String lookError;
  private boolean raisable;
  private boolean raisesPossible;
  private Set<String> blockedRoles = Set.of();
  private Map<TenantId, Integer> unmet = Map.of();

  public Coordinator(CoordinatorSettings settings) {
    this.settings = settings;
    this.leaseNanos = settings.lease().toNanos();
    this.policies = settings.policies();
    this.ledger = new Ledger(leaseNanos);
    this.planner = new GrantPlanner(policies);
    this.tracker = new BudgetTracker(settings.margin());
    this.enforcer = new Enforcer(settings.enforce(), policies, settings.observeEvery().toNanos());
  }

  /** What it knows, and so what it may grant. */
  public CoordinatorPhase phase() {
    return phase;
  }

  /** The term; 0 before it led. */
  public long epoch() {
    return epoch;
  }

  /** The budget in force, or null before the first look. */
  public @Nullable Budget budget() {
    return budget;
  }

  /** Slots of guarantees that have demand and cannot be granted. */
  public int unmetGuarantees() {
    return Saturated.toInt(unmet.values().stream().mapToLong(Integer::longValue).sum());
  }

  /** Connections of managed roles that are no member's. */
  public int strays() {
    return ledger.strayCount();
  }

  /**
   * The leader's lock was taken: a term begins.
   *
   * @param serverEpoch what PostgreSQL gave for it; the term is later if another one was
   */
  public void lead(long serverEpoch, long now) {
    epoch = Math.max(serverEpoch, Math.max(epoch, namedEpoch) + 1);
    namedIsOver = false;
    raisesPossible = false;
    leader = null;
    leaderAddress = null;
    if (phase == CoordinatorPhase.STANDBY) {
      ledger.listensAgain(now);
    }
    learnsUntilNanos = now + leaseNanos;
    learned = false;
    phase = settings.learns() ? CoordinatorPhase.LEARNING : CoordinatorPhase.SERVING;
    ledger.newEpoch();
    raisable = false;
    enforcer.newTerm();
  }

  /**
   * Another coordinator leads: requests are refused from now on.
   *
   * @param otherLeader how it calls itself, for people
   * @param address where members reach it, or null if nobody knows
   */
  public void follow(String otherLeader, @Nullable String address) {
    leader = otherLeader;
    leaderAddress = address;
    lookError = null;
    phase = CoordinatorPhase.STANDBY;
    namedIsOver = false;
    enforcer.newTerm();
  }

  /**
   * Takes in a member's snapshot.
   *
   * @return what became of it
   * @throws SyncRefusedException if nothing of it was taken in
   */
  public Ledger.Taken sync(MemberId id, SyncRequest request, String address, long now) {
    if (phase == CoordinatorPhase.STANDBY) {
      throw notLeading();
    }
    Map<TenantId, TenantReport> reports = byTenant(request);
    noteEpoch(request.epoch(), now);
    Map<TenantId, Report> managed = new HashMap<>();
    Map<TenantId, String> refused = new TreeMap<>();
    reports.forEach(
        (tenant, report) -> {
          if (policies.policyOf(tenant) == null) {
            refused.put(tenant, policies.refusalOf(tenant));
          } else {
            managed.put(tenant, report(report));
          }
        });
    Snapshot snapshot =
        new Snapshot(
            request.name(),
            address,
            request.phase(),
            request.leaving(),
            request.sequence(),
            request.epoch() == epoch ? request.generation() : -1,
            request.connectTimeoutMillis() * 1_000_000,
            managed);
    Ledger.Taken taken = ledger.take(id, snapshot, phase == CoordinatorPhase.LEARNING, now);
    if (taken == Ledger.Taken.LEFT) {
      throw new SyncRefusedException(
          SyncRefusal.LEFT, "member " + id + " has left; a restarted process has a new id", null);
    }
    Member member = ledger.member(id);
    if (member != null && taken != Ledger.Taken.STALE) {
      refused.forEach((tenant, why) -> ledger.refuse(member, tenant, why));
    }
    return taken;
  }

  private void noteEpoch(long named, long now) {
    if (named > Math.max(epoch, namedEpoch) && named < NO_EPOCH) {
      namedEpoch = named;
      namedNanos = now;
    }
  }

  /** Whether a member names a term later than ours, though we lead. */
  private boolean namesLaterEpoch() {
    return phase != CoordinatorPhase.STANDBY && namedEpoch > epoch;
  }

  /**
   * Whether a request is answered at once: it does not know the member's grants, or goes by more,
   * or is not GRANTED, or leaves, or asks for an answer. Otherwise it is parked until something
   * changes. A member that goes by less has a cap of its own.
   */
  public boolean answersAtOnce(MemberId id, SyncRequest request) {
    Member member = ledger.member(id);
    if (member == null
        || request.leaving()
        || request.renews()
        || request.phase() != MemberPhase.GRANTED
        || request.sequence() < member.sequence()
        || request.epoch() != epoch
        || request.generation() != member.generation()) {
      return true;
    }
    for (TenantReport report : request.tenants()) {
      Holding holding = member.holdings().get(TenantId.parse(report.tenant()));
      if (report.grant() > (holding == null ? 0 : holding.grant())) {
        return true;
      }
    }
    return false;
  }

  /** What the member may hold now; for a member that is not known, nothing. */
  public SyncResponse answer(MemberId id) {
    Member member = ledger.member(id);
    List<TenantGrant> grants = new ArrayList<>();
    if (member != null) {
      Map<TenantId, Long> sums = new HashMap<>();
      ledger
          .members()
          .forEach(m -> m.holdings().forEach((t, h) -> sums.merge(t, (long) h.grant(), Long::sum)));
      member
          .holdings()
          .forEach(
              (tenant, holding) -> {
                TenantPolicy policy = policies.policyOf(tenant);
                grants.add(
                    new TenantGrant(
                        tenant.toString(),
                        holding.grant(),
                        null,
                        Saturated.toInt(sums.getOrDefault(tenant, 0L)),
                        policy == null || policy.max() == TenantPolicy.NO_MAX ? null : policy.max(),
                        holding.gone()));
              });
      member
          .refusals()
          .forEach((tenant, why) -> grants.add(new TenantGrant(tenant.toString(), 0, why, 0, 0)));
    }
    return new SyncResponse(
        SyncRequest.VERSION,
        settings.instance().value(),
        epoch,
        ledger.generation(id),
        phase,
        settings.lease().toMillis(),
        settings.park().toMillis(),
        budget == null ? 0 : budget.total(),
        Saturated.toInt(ledger.granted()),
        grants);
  }

  /** Takes in a good look at PostgreSQL. The next {@link #decide} may raise grants. */
  public void observed(Observation look) {
    List<Backend> managed = new ArrayList<>();
    int foreign = 0;
    int unnamed = 0;
    for (Backend backend : look.backends()) {
      if (backend.pid() == look.ownPid()) {
        foreign++;
      } else if (backend.role() == null) {
        unnamed++;
      } else if (policies.manages(backend.role(), backend.superuser())) {
        managed.add(backend);
      } else {
        foreign++;
      }
    }
    // A login in progress is foreign only beyond what members may be opening: what they reported,
    // or what they were granted since and PostgreSQL does not yet show, which counts already.
    long expected = Math.max(ledger.opening(), ledger.counted() - managed.size());
    foreign += (int) Math.max(0, unnamed - expected);
    budget = tracker.observed(look.startedNanos(), look.limits(), foreign);
    enforcer.observed(look, managed);
    ledger.observed(managed, look.startedNanos(), enforcer::bounds);
    learned =
        enforcer.boundsAll(budget.total(), look.startedNanos())
            && ledger.hasHeardEverybody(look.startedNanos());
    lookedNanos = look.startedNanos();
    looked = true;
    lookError = null;
    raisable = true;
    namedIsOver = namesLaterEpoch() && look.startedNanos() - namedNanos >= 0;
  }

  /** PostgreSQL could not be looked at: the budget stays, and nothing is raised. */
  public void observationFailed(String reason) {
    lookError = reason;
  }

  /**
   * Decides what everybody may hold, once for all that came in since the last time.
   *
   * @return members that were dropped because they left or were forgotten
   */
  public List<Member> decide(long now) {
    boolean proven = raisable;
    raisable = false;
    if (namedIsOver) {
      lead(namedEpoch, now);
    }
    if (phase == CoordinatorPhase.LEARNING && (learned || now - learnsUntilNanos >= 0)) {
      phase = CoordinatorPhase.SERVING;
      ledger.announce();
    }
    if (phase == CoordinatorPhase.SERVING && budget != null) {
      boolean mayRaise = proven && enforcer.permitsRaises();
      LimitRoom room = enforcer.room(ledger, budget.total());
      GrantPlanner.Outcome outcome =
          planner.plan(ledger, budget.total() - ledger.strayCount(), mayRaise, room, now);
      unmet = outcome.unmetGuarantees();
      if (mayRaise) {
        enforcer.plan(budget.total(), ledger, room.blocked(), now);
        blockedRoles = Set.copyOf(room.blocked().keySet());
        raisesPossible = !blockedRoles.isEmpty() && enforcer.awaitsProof();
      } else {
        // What found no room under its role's limit waits for that, not for one more look.
        raisesPossible =
            enforcer.permitsRaises() && !blockedRoles.containsAll(outcome.raisableRoles());
      }
    }
    return phase == CoordinatorPhase.STANDBY ? List.of() : ledger.sweep(now);
  }

  /** Connection limits to be set now, the lowerings first; each change is given once. */
  public Map<String, Integer> takeLimitChanges() {
    return enforcer.takeChanges();
  }

  /** Limits are in force, which also proves that this coordinator leads: grants may be raised. */
  public void limitsSet(Map<String, Integer> limits, long now) {
    enforcer.committed(limits, now);
    raisable = true;
  }

  /** Limits could not be set, or nobody knows. */
  public void limitsFailed(Map<String, Integer> limits, String reason, long now) {
    enforcer.failed(limits, reason, now);
  }

  /** Limits that another hand has changed since the last call, as they were found. */
  public Map<String, Integer> drainLimitsOfOtherHands() {
    return enforcer.drainOtherHand();
  }

  /** Whether role limits are kept. */
  public boolean enforces() {
    return enforcer.isOn();
  }

  /** What protects the budget, in one sentence for operators. */
  public String enforcement() {
    return enforcer.sentence();
  }

  /** Members whose answers changed since the last call. */
  public Set<MemberId> drainChanged() {
    return ledger.drainChanged();
  }

  /** When to look at PostgreSQL next; a moment that has passed means at once. */
  public long nextLookNanos(long now) {
    if (!looked || raisesPossible || namesLaterEpoch()) {
      return now;
    }
    long next = lookedNanos + settings.observeEvery().toNanos();
    for (Member member : ledger.members()) {
      for (Holding holding : member.holdings().values()) {
        if (holding.awaitsProof()) {
          return now;
        }
        if (holding.isContradicted()) {
          next = Math.min(next, lookedNanos + CONTRADICTED_NANOS);
        }
      }
    }
    return next;
  }

  /** Everything that an operator wants to see. */
  public InstanceStatus status(long now) {
    return new StatusView(settings, ledger, enforcer, unmet, now)
        .instance(phase, epoch, leader, budget, looked ? now - lookedNanos : -1, lookError);
  }

  /**
   * Checks what must hold between any two rounds.
   *
   * @throws IllegalStateException naming what does not
   */
  public void checkInvariants() {
    ledger.checkInvariants();
  }

  Ledger ledger() {
    return ledger;
  }

  /** The answer to members of a coordinator that does not lead. */
  SyncRefusedException notLeading() {
    String message =
        "this coordinator does not lead on instance "
            + settings.instance()
            + (leader == null
                ? " yet: PostgreSQL has not been reached"
                : "; the one at " + leader + " does");
    return new SyncRefusedException(SyncRefusal.NOT_LEADING, message, leaderAddress);
  }

  private static Map<TenantId, TenantReport> byTenant(SyncRequest request) {
    Map<TenantId, TenantReport> reports = new HashMap<>();
    for (TenantReport report : request.tenants()) {
      TenantId tenant;
      try {
        tenant = TenantId.parse(report.tenant());
      } catch (IllegalArgumentException e) {
        throw new SyncRefusedException(
            SyncRefusal.BAD_REQUEST, String.valueOf(e.getMessage()), null);
      }
      if (reports.put(tenant, report) != null) {
        throw new SyncRefusedException(
            SyncRefusal.BAD_REQUEST, "tenant " + tenant + " is reported twice", null);
      }
    }
    return reports;
  }

  private static Report report(TenantReport report) {
    return new Report(
        report.grant(),
        report.demand(),
        report.waiting(),
        report.opening(),
        report.held(),
        report.pids());
  }
}
