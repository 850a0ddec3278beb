package io.pgsteward.ledger;

import static java.util.stream.Collectors.partitioningBy;

import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.postgres.Backend;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Who was granted what on one instance, and what each may still hold: instance x tenant x member.
 *
 * <p>The ledger keeps accounts and decides nothing. Time comes in as an argument. Not thread-safe:
 * owned by one coordinator.
 */
public final class Ledger {

  /** What became of a snapshot. */
  public enum Taken {
    /** From a member that was not known; what it goes by was taken over. */
    JOINED,
    /** From a known member, and newer than what was known. */
    NEWER,
    /** Not newer than what was known: nothing changed. */
    STALE,
    /** From a member that has left: nothing changed. */
    LEFT
  }

  /** When a member left, and the last generation that it can have seen. */
  private record Departure(long atNanos, long generation) {}

  private final long leaseNanos;
  private final Map<MemberId, Member> members = new TreeMap<>();
  private final Map<MemberId, Departure> departures = new HashMap<>();
  private final Evidence evidence = new Evidence();
  private final Set<MemberId> changed = new TreeSet<>();

  public Ledger(long leaseNanos) {
    this.leaseNanos = leaseNanos;
  }

  /** The members in the order of their ids; a view. */
  public Collection<Member> members() {
    return Collections.unmodifiableCollection(members.values());
  }

  public @Nullable Member member(MemberId id) {
    return members.get(id);
  }

  /** Generation of the member's grants; of one that left, its last; of one not known, 1. */
  public long generation(MemberId id) {
    Member member = members.get(id);
    Departure left = departures.get(id);
    return member != null ? member.generation() : left != null ? left.generation : 1;
  }

  /** Whether the member has not been heard for longer than a lease. */
  public boolean isSilent(Member member, long nowNanos) {
    return member.isSilent(nowNanos, leaseNanos);
  }

  /** The coordinator hears members again: the time in which it did not is nobody's silence. */
  public void listensAgain(long nowNanos) {
    for (Member member : members.values()) {
      member.listenedTo(nowNanos);
      member.ownHoldings().values().forEach(Holding::unshrink);
    }
  }

  /** Sum of all grants. */
  public long granted() {
    long sum = 0;
    for (Member member : members.values()) {
      for (Holding holding : member.holdings().values()) {
        sum += holding.grant();
      }
    }
    return sum;
  }

  /** Sum of all grants, each lowered one at what it may still hold: what S1 compares. */
  public long counted() {
    long sum = 0;
    for (Member member : members.values()) {
      for (Holding holding : member.holdings().values()) {
        sum += holding.counted();
      }
    }
    return sum;
  }

  /** Connections that members report as being opened. */
  public long opening() {
    long sum = 0;
    for (Member member : members.values()) {
      for (Holding holding : member.holdings().values()) {
        sum += holding.report().opening();
      }
    }
    return sum;
  }

  /** Connections of managed roles that are no member's, by (role, database). */
  public Map<List<String>, Integer> strays() {
    Map<List<String>, Integer> strays = new HashMap<>();
    evidence.strays().forEach((at, count) -> strays.put(List.of(at.role(), at.database()), count));
    return strays;
  }

  /** How many strays there are in all. */
  public int strayCount() {
    return evidence.strays().values().stream().mapToInt(Integer::intValue).sum();
  }

  /**
   * Takes in what a member said.
   *
   * @param adopts whether what it goes by is taken over as its grant, as a learning coordinator
   *     does
   */
  public Taken take(MemberId id, Snapshot snapshot, boolean adopts, long nowNanos) {
    if (departures.containsKey(id)) {
      return Taken.LEFT;
    }
    Member known = members.get(id);
    if (known != null && snapshot.sequence() <= known.sequence()) {
      return Taken.STALE;
    }
    Member member = known == null ? new Member(id, snapshot.generation(), nowNanos) : known;
    members.put(id, member);
    member.heard(snapshot, nowNanos);
    for (TenantId tenant : snapshot.reports().keySet()) {
      member.ownHoldings().computeIfAbsent(tenant, t -> new Holding(nowNanos));
    }
    for (Map.Entry<TenantId, Holding> entry : member.ownHoldings().entrySet()) {
      Holding holding = entry.getValue();
      Report news = snapshot.reports().getOrDefault(entry.getKey(), Report.NOTHING);
      if (member.leaving()) {
        grant(member, holding, 0, nowNanos);
        holding.reportLeaving(news, nowNanos);
      } else if (known == null || adopts) {
        holding.adopt(news, nowNanos);
      } else {
        holding.report(news, snapshot.generation(), nowNanos);
      }
    }
    return known == null ? Taken.JOINED : Taken.NEWER;
  }

  /** Notes that the configuration refuses a tenant to a member, and why. */
  public void refuse(Member member, TenantId tenant, String reason) {
    if (!reason.equals(member.ownRefusals().put(tenant, reason))) {
      member.nextGeneration();
      changed.add(member.id());
    }
  }

  /** Changes a grant. A raise counts at once; a lowering frees nothing yet. */
  public void grant(Member member, Holding holding, int slots, long nowNanos) {
    if (slots == holding.grant()) {
      return;
    }
    holding.grant(slots, member.nextGeneration(), nowNanos);
    changed.add(member.id());
  }

  /** Starts a new term: no report made under the old one proves anything. */
  public void newEpoch() {
    for (Member member : members.values()) {
      member.newEpoch();
      changed.add(member.id());
    }
  }

  /** Tells every member again what it has, though no grant changed. */
  public void announce() {
    for (Member member : members.values()) {
      member.nextGeneration();
      changed.add(member.id());
    }
  }

  /** Members whose generation grew since the last call, in the order of their ids. */
  public Set<MemberId> drainChanged() {
    Set<MemberId> drained = new TreeSet<>(changed);
    changed.clear();
    return drained;
  }

  /**
   * Takes in a look at PostgreSQL: settles what reports said was let go, shrinks silent members to
   * what it shows of them where their role is kept to a limit, finds strays, and forgets silent
   * members of which nothing is left (rule S6).
   *
   * @param managed the client connections of managed roles
   * @param startedNanos when the look began
   * @param limited whether PostgreSQL keeps a role to a limit that counts by itself
   */
  public void observed(Collection<Backend> managed, long startedNanos, Predicate<String> limited) {
    evidence.observe(managed, members.values(), startedNanos);
    shrinkSilent(startedNanos, limited);
    evidence.countStrays(members.values());
    for (Member member : members.values()) {
      if (evidence.showGone(member, startedNanos)) {
        changed.add(member.id());
      }
      if (startedNanos - member.forgettableNanos(leaseNanos) > 0) {
        releaseWhatIsGone(member, startedNanos);
      }
    }
  }

  private void shrinkSilent(long startedNanos, Predicate<String> limited) {
    Map<Boolean, List<Member>> bySilence =
        members.values().stream().collect(partitioningBy(m -> isSilent(m, startedNanos)));
    List<Member> silent = bySilence.getOrDefault(true, List.of());
    if (silent.isEmpty()) {
      return;
    }
    Map<Holding, Integer> shown =
        evidence.shownOf(silent, bySilence.getOrDefault(false, List.of()));
    for (Member member : silent) {
      member
          .ownHoldings()
          .forEach(
              (tenant, holding) -> {
                holding.unshrink();
                if (limited.test(tenant.role())) {
                  int slots = shown.getOrDefault(holding, 0);
                  grant(member, holding, Math.min(holding.grant(), slots), startedNanos);
                  holding.shrink(slots);
                }
              });
    }
  }

  /**
   * Whether every member of which there is evidence has reported naming this epoch (rule S8), as
   * far as the last look can tell: each backend that it showed is one that a member reported, and
   * each member has named the epoch before it, or is silent and holds nothing.
   *
   * @param startedNanos when that look began
   */
  public boolean hasHeardEverybody(long startedNanos) {
    return evidence.allClaimed()
        && members.values().stream()
            .allMatch(
                member ->
                    member.namedEpochBefore(startedNanos)
                        || (isSilent(member, startedNanos)
                            && member.holdings().values().stream()
                                .allMatch(holding -> holding.counted() == 0)));
  }

  private void releaseWhatIsGone(Member member, long startedNanos) {
    member
        .ownHoldings()
        .forEach(
            (tenant, holding) -> {
              if (!evidence.showsAnyOf(tenant, holding)) {
                holding.release(startedNanos);
              }
            });
  }

  /**
   * Drops holdings of which nothing is left, members that left, and silent members without
   * holdings.
   *
   * @return the members that were dropped
   */
  public List<Member> sweep(long nowNanos) {
    departures.values().removeIf(left -> nowNanos - left.atNanos > leaseNanos);
    List<Member> dropped = new ArrayList<>();
    for (Iterator<Member> all = members.values().iterator(); all.hasNext(); ) {
      Member member = all.next();
      member.ownHoldings().values().removeIf(Holding::isEmpty);
      if (member.holdings().isEmpty() && (member.leaving() || isSilent(member, nowNanos))) {
        all.remove();
        dropped.add(member);
        if (member.leaving()) {
          departures.put(member.id(), new Departure(nowNanos, member.generation()));
        }
      }
    }
    return dropped;
  }

  /**
   * Checks what must hold between any two calls.
   *
   * @throws IllegalStateException naming what does not
   */
  public void checkInvariants() {
    members.values().forEach(m -> m.holdings().values().forEach(Holding::checkInvariants));
    if (granted() > counted()) {
      throw new IllegalStateException("granted " + granted() + " but counted " + counted());
    }
  }
}
