package io.pgsteward.coordination;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.enforcement.LimitBook;
import io.pgsteward.enforcement.LimitPlanner;
import io.pgsteward.enforcement.LimitPlanner.Changes;
import io.pgsteward.enforcement.LimitPlanner.Need;
import io.pgsteward.enforcement.RoleLimit;
import io.pgsteward.ledger.Holding;
import io.pgsteward.ledger.Ledger;
import io.pgsteward.ledger.Member;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.LimitRights;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.Observation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Makes PostgreSQL refuse what was not granted (rule S4): knows the role limits in force, and which
 * should change. A grant is raised only within a limit in force, so the order is always: lower
 * limits; look; raise limits; raise grants.
 *
 * <p>A state machine without I/O. Not thread-safe: owned by one {@link Coordinator}.
 */
final class Enforcer {

  /** Roles that are named in a message before "and n more". */
  private static final int NAMED = 5;

  private final EnforceMode mode;
  private final PolicyBook policies;
  private final long retryNanos;
  private LimitBook book = new LimitBook();
  private boolean looked;
  private @Nullable String obstacle;
  private @Nullable String failure;
  private long notBefore;
  private boolean backingOff;
  private Changes changes = Changes.NONE;
  private Set<String> otherHand = new TreeSet<>();

  /**
   * @param retryNanos time after a failed change in which none is tried
   */
  Enforcer(EnforceMode mode, PolicyBook policies, long retryNanos) {
    this.mode = mode;
    this.policies = policies;
    this.retryNanos = retryNanos;
  }

  /** Whether role limits are kept. */
  boolean isOn() {
    return looked && obstacle == null;
  }

  /** Whether grants may be raised at all. */
  boolean permitsRaises() {
    return mode != EnforceMode.REQUIRED || isOn();
  }

  /** A look at PostgreSQL, of which these are the connections of managed roles. */
  void observed(Observation look, List<Backend> managed) {
    Observation.Roles roles = look.roles();
    if (mode == EnforceMode.OFF || roles == null) {
      return;
    }
    looked = true;
    obstacle = obstacle(policies, roles);
    Map<String, Integer> limits = new TreeMap<>();
    // Held to no limit, though nobody changed the one that they have.
    Set<String> superusers = new HashSet<>();
    for (LoginRole role : roles.all()) {
      if (policies.manages(role.name(), role.superuser())) {
        limits.put(role.name(), role.superuser() ? RoleLimit.UNLIMITED : role.limit());
        if (role.superuser()) {
          superusers.add(role.name());
        }
      }
    }
    Map<String, Integer> seen = new HashMap<>();
    for (Backend backend : managed) {
      seen.merge(String.valueOf(backend.role()), 1, Integer::sum);
    }
    otherHand.addAll(book.observed(limits, seen, look.startedNanos(), roles.endedNanos()));
    otherHand.removeAll(superusers);
  }

  /**
   * Why role limits cannot be kept.
   *
   * @return null if they can
   */
  static @Nullable String obstacle(PolicyBook policies, Observation.Roles roles) {
    if (roles.rights() == LimitRights.NONE) {
      return "the coordinator's role may change no connection limit (setup-sql prints what it needs)";
    }
    List<String> superusers = new ArrayList<>();
    List<String> outOfReach = new ArrayList<>();
    for (LoginRole role : roles.all()) {
      if (!policies.manages(role.name(), role.superuser())) {
        continue;
      }
      if (role.superuser()) {
        superusers.add(role.name());
      } else if (!role.alterable()) {
        outOfReach.add(role.name());
      }
    }
    if (!superusers.isEmpty()) {
      return "PostgreSQL holds no superuser to a limit, and these managed roles are superusers: "
          + named(superusers);
    }
    return outOfReach.isEmpty()
        ? null
        : "the coordinator may not change the limit of these managed roles: "
            + named(outOfReach)
            + " (run what setup-sql prints again, or declare them foreign)";
  }

  private static String named(List<String> roles) {
    return roles.size() <= NAMED
        ? String.join(", ", roles)
        : String.join(", ", roles.subList(0, NAMED)) + " and " + (roles.size() - NAMED) + " more";
  }

  /** Whether PostgreSQL is kept from letting managed roles have more than the budget. */
  private boolean fits(int budget) {
    return !isOn() || book.counts() <= budget;
  }

  /**
   * Whether limits keep all managed roles together to the budget, also those members of which the
   * last look showed nothing.
   *
   * @param startedNanos when that look began
   */
  boolean boundsAll(int budget, long startedNanos) {
    return isOn() && book.counts() <= budget && book.isProvenBy(startedNanos);
  }

  /** Whether PostgreSQL keeps this role to a limit, so that it counts by itself. */
  boolean bounds(String role) {
    return isOn() && book.isLimited(role);
  }

  /**
   * What the limits in force leave in this round: nothing while the roles together count more than
   * the budget, since a silent member is not counted at what its role's limit lets it have.
   * PostgreSQL keeps a limit whether or not we may change it, so it bounds grants also while
   * something stands in our way.
   */
  LimitRoom room(Ledger ledger, int budget) {
    if (!looked) {
      return LimitRoom.endless();
    }
    if (!fits(budget)) {
      return LimitRoom.none();
    }
    Map<String, Integer> limits = new HashMap<>();
    book.roles().forEach(role -> limits.put(role.role(), role.limit()));
    long other = isOn() ? 0 : Long.MAX_VALUE; // a role without a limit must have one first
    return LimitRoom.within(
        role -> {
          int limit = limits.getOrDefault(role, RoleLimit.UNLIMITED);
          return limit == RoleLimit.UNLIMITED ? other : limit;
        },
        mayHold(ledger));
  }

  /** Another term: nothing of what was planned in the one before is sent. */
  void newTerm() {
    changes = Changes.NONE;
    book = new LimitBook();
  }

  private static Map<String, Long> mayHold(Ledger ledger) {
    Map<String, Long> sums = new HashMap<>();
    for (Member member : ledger.members()) {
      for (Map.Entry<TenantId, Holding> entry : member.holdings().entrySet()) {
        sums.merge(entry.getKey().role(), (long) entry.getValue().counted(), Long::sum);
      }
    }
    ledger.strays().forEach((at, count) -> sums.merge(at.get(0), (long) count, Long::sum));
    return sums;
  }

  /**
   * Plans changes of limits after the grants of a round were decided.
   *
   * @param blocked slots that found no room under the limits, by role, in the order of their claim
   */
  void plan(int budget, Ledger ledger, Map<String, Integer> blocked, long now) {
    if (!isOn() || (backingOff && now - notBefore < 0)) {
      return;
    }
    backingOff = false;
    Map<String, Long> mayHold = mayHold(ledger);
    Map<String, Integer> guarantees = guarantees(ledger);
    Set<String> order = new LinkedHashSet<>(blocked.keySet());
    for (RoleLimit role : book.roles()) {
      order.add(role.role());
    }
    List<Need> needs = new ArrayList<>();
    for (String role : order) {
      needs.add(
          new Need(
              role,
              Saturated.toInt(mayHold.getOrDefault(role, 0L)),
              blocked.getOrDefault(role, 0),
              guarantees.getOrDefault(role, 0)));
    }
    changes = LimitPlanner.plan(budget, book, needs);
    if (changes.isEmpty()) {
      failure = null;
    }
  }

  private Map<String, Integer> guarantees(Ledger ledger) {
    Set<TenantId> tenants = new HashSet<>(policies.exactTenants());
    ledger.members().forEach(member -> tenants.addAll(member.holdings().keySet()));
    Map<String, Integer> guarantees = new HashMap<>();
    for (TenantId tenant : tenants) {
      TenantPolicy policy = policies.policyOf(tenant);
      if (policy != null && policy.guarantee() > 0) {
        guarantees.merge(tenant.role(), policy.guarantee(), Integer::sum);
      }
    }
    return guarantees;
  }

  /** Whether the last lowering must be proven by a look before anything else can be raised. */
  boolean awaitsProof() {
    return isOn() && book.awaitsProof();
  }

  /** The changes to be sent now; each is given once, and counts as being sent from here on. */
  Map<String, Integer> takeChanges() {
    Map<String, Integer> taken = new LinkedHashMap<>(changes.inOrder());
    changes = Changes.NONE;
    book.attempting(taken);
    return taken;
  }

  /** Changes are in force. */
  void committed(Map<String, Integer> limits, long now) {
    book.committed(limits, now);
    failure = null;
  }

  /** Changes failed, or nobody knows. */
  void failed(Map<String, Integer> limits, String reason, long now) {
    book.unknown(limits, now);
    failure = reason;
    backingOff = true;
    notBefore = now + retryNanos;
  }

  /** Roles whose limit another hand has changed since the last call, with what was found. */
  Map<String, Integer> drainOtherHand() {
    Map<String, Integer> drained = new TreeMap<>();
    otherHand.forEach(role -> drained.put(role, book.limit(role)));
    otherHand = new TreeSet<>();
    return drained;
  }

  /** The limit in force of a role, or null when none are kept. */
  @Nullable Integer limit(String role) {
    return isOn() ? (Integer) book.limit(role) : null;
  }

  /** What protects the budget, in one sentence that needs no manual. */
  String sentence() {
    String ledgerAlone =
        "the ledger alone protects the budget, so members keep to their grants and anything else"
            + " that logs in as a managed role is counted but not refused";
    if (mode == EnforceMode.OFF) {
      return "enforce is off: " + ledgerAlone;
    }
    String is = "enforce is " + mode.name().toLowerCase(Locale.ROOT);
    if (!looked) {
      return is + ": PostgreSQL's roles were not looked at yet";
    }
    if (obstacle != null) {
      return is
          + ", but "
          + obstacle
          + (mode == EnforceMode.REQUIRED ? ": nothing new is granted" : ": " + ledgerAlone)
          + (book.roles().stream().allMatch(role -> role.limit() == RoleLimit.UNLIMITED)
              ? ""
              : "; limits that roles have stay in force and bound their grants");
    }
    return failure != null
        ? is
            + ": PostgreSQL refuses what was not granted, but limits could not be changed: "
            + failure
        : is + ": PostgreSQL refuses what was not granted, by the connection limits of roles";
  }
}
