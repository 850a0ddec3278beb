package io.pgsteward.ledger;

import io.pgsteward.model.TenantId;
import io.pgsteward.postgres.Backend;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Matches the backends of managed roles that PostgreSQL shows with the pids that members report,
 * and so tells whose they are. What is left over is a stray, but not at once: a member reports a
 * new connection a little after it opened it.
 *
 * <p>An unclaimed backend is a stray when the members of its role and database have no room for it,
 * or when each of them has reported twice since it was first seen (the second of two reports was
 * certainly measured later). A silent member has not, so its unreported backends stay its own.
 *
 * <p>Not thread-safe: owned by a {@link Ledger}.
 */
final class Evidence {

  /** Role and database, which is what a backend shows; several labels share one. */
  record Place(String role, String database) implements Comparable<Place> {

    static Place of(TenantId tenant) {
      return new Place(tenant.role(), tenant.database());
    }

    @Override
    public int compareTo(Place other) {
      int byRole = role.compareTo(other.role);
      return byRole != 0 ? byRole : database.compareTo(other.database);
    }
  }

  /** A backend that no member claims, since when it is known, and whether it is surely a stray. */
  private record Unclaimed(Place place, long firstSeenNanos, boolean settled) {

    /** Whether each of them has reported twice since it was first seen. */
    boolean isDisownedBy(Collection<Member> members) {
      return members.stream().allMatch(m -> m.heardBeforeNanos() - firstSeenNanos > 0);
    }
  }

  private int managed;
  private Map<Integer, Unclaimed> unclaimed = new HashMap<>();
  private Map<Integer, Place> alive = new HashMap<>();
  private Map<Integer, Holding> owner = new HashMap<>();
  private final Map<Place, Integer> strays = new TreeMap<>();

  /** Strays by role and database as the last look showed them; places without any are left out. */
  Map<Place, Integer> strays() {
    return strays;
  }

  /** Takes in one look: what the members hold. {@link #countStrays} says what is nobody's. */
  void observe(Collection<Backend> backends, Collection<Member> members, long startedNanos) {
    managed = backends.size();
    alive = new HashMap<>();
    for (Backend backend : backends) {
      if (backend.role() != null && backend.database() != null) {
        alive.put(backend.pid(), new Place(backend.role(), backend.database()));
      }
    }
    claim(members);
    Map<Place, List<Member>> residents = byPlace(members);
    Map<Integer, Unclaimed> before = unclaimed;
    unclaimed = new HashMap<>();
    alive.forEach(
        (pid, place) -> {
          if (!owner.containsKey(pid)) {
            Unclaimed known = before.get(pid);
            unclaimed.put(
                pid,
                known == null || !known.place.equals(place)
                    ? new Unclaimed(place, startedNanos, false)
                    : new Unclaimed(
                        place,
                        known.firstSeenNanos,
                        known.settled
                            || known.isDisownedBy(residents.getOrDefault(place, List.of()))));
          }
        });
    for (Member member : members) {
      member.ownHoldings().forEach((tenant, holding) -> settle(tenant, holding, startedNanos));
    }
  }

  /**
   * What the last look shows of each holding of silent members: backends that it reported, and a
   * part of those of its role and database that nobody claims, up to what it may hold. Its part is
   * what the members that are heard have disowned, each by two reports since it was first seen, and
   * what they have no room for: a connection that one of them has just opened is not the silent
   * member's.
   */
  Map<Holding, Integer> shownOf(Collection<Member> silent, Collection<Member> heard) {
    Map<Place, Integer> left = leftBy(heard);
    Map<Holding, Integer> claimed = claimedAlive();
    Map<Holding, Integer> shown = new HashMap<>();
    forEachHolding(
        silent,
        (tenant, holding) -> {
          int own = claimed.getOrDefault(holding, 0);
          int more = Math.min(left.getOrDefault(Place.of(tenant), 0), holding.byGrants() - own);
          if (more > 0) {
            left.merge(Place.of(tenant), -more, Integer::sum);
          }
          shown.put(holding, own + Math.max(0, more));
        });
    return shown;
  }

  /** Unclaimed backends that can hardly be a heard member's, by place; settled strays left out. */
  private Map<Place, Integer> leftBy(Collection<Member> heard) {
    Map<Place, Integer> room = roomAt(heard);
    Map<Place, List<Member>> residents = byPlace(heard);
    Map<Place, Integer> left = new HashMap<>();
    Map<Place, Integer> fresh = new HashMap<>();
    for (Unclaimed one : unclaimed.values()) {
      if (!one.settled) {
        (one.isDisownedBy(residents.getOrDefault(one.place, List.of())) ? left : fresh)
            .merge(one.place, 1, Integer::sum);
      }
    }
    fresh.forEach(
        (place, count) ->
            left.merge(place, Math.max(0, count - room.getOrDefault(place, 0)), Integer::sum));
    return left;
  }

  /**
   * Notes which of the process ids that a member reported last the look no longer shows.
   *
   * @return whether there is news for the member
   */
  boolean showGone(Member member, long startedNanos) {
    boolean news = false;
    for (Map.Entry<TenantId, Holding> entry : member.ownHoldings().entrySet()) {
      Place place = Place.of(entry.getKey());
      List<Integer> gone =
          entry.getValue().report().pids().stream()
              .filter(pid -> !place.equals(alive.get(pid)))
              .sorted()
              .toList();
      news |= entry.getValue().showGone(startedNanos, gone);
    }
    return news;
  }

  /** A pid belongs to the holding whose newest report names it, else to the one that once did. */
  private void claim(Collection<Member> members) {
    owner = new HashMap<>();
    forEachHolding(
        members,
        (tenant, holding) -> holding.report().pids().forEach(pid -> claim(pid, tenant, holding)));
    forEachHolding(
        members, (tenant, holding) -> holding.pids().forEach(pid -> claim(pid, tenant, holding)));
  }

  private void claim(Integer pid, TenantId tenant, Holding holding) {
    if (Place.of(tenant).equals(alive.get(pid))) {
      owner.putIfAbsent(pid, holding);
    }
  }

  private void settle(TenantId tenant, Holding holding, long startedNanos) {
    holding
        .pids()
        .removeIf(pid -> owner.get(pid) != holding && !holding.report().pids().contains(pid));
    int lingering = 0;
    for (Integer pid : holding.pids()) {
      if (owner.get(pid) == holding && !holding.report().pids().contains(pid)) {
        lingering++;
      }
    }
    holding.observed(startedNanos, lingering);
  }

  /** Counts what the last look showed and no member has room for. */
  void countStrays(Collection<Member> members) {
    Map<Place, Integer> unclaimedAt = new TreeMap<>();
    Map<Place, Integer> settledAt = new TreeMap<>();
    for (Unclaimed one : unclaimed.values()) {
      unclaimedAt.merge(one.place, 1, Integer::sum);
      if (one.settled) {
        settledAt.merge(one.place, 1, Integer::sum);
      }
    }
    Map<Place, Integer> room = roomAt(members);
    strays.clear();
    unclaimedAt.forEach(
        (place, count) -> {
          int beyondRoom = count - room.getOrDefault(place, 0);
          int stray = Math.max(beyondRoom, settledAt.getOrDefault(place, 0));
          if (stray > 0) {
            strays.put(place, stray); // at most the backends that PostgreSQL shows
          }
        });
  }

  private Map<Holding, Integer> claimedAlive() {
    Map<Holding, Integer> claimed = new HashMap<>();
    owner.values().forEach(holding -> claimed.merge(holding, 1, Integer::sum));
    return claimed;
  }

  /** Slots of members that no reported backend fills, by place; never more than an int holds. */
  private Map<Place, Integer> roomAt(Collection<Member> members) {
    Map<Holding, Integer> claimed = claimedAlive();
    Map<Place, Integer> room = new HashMap<>();
    forEachHolding(
        members,
        (tenant, holding) ->
            room.merge(
                Place.of(tenant),
                holding.room(claimed.getOrDefault(holding, 0)),
                (a, b) -> (int) Math.min(Integer.MAX_VALUE, (long) a + b)));
    return room;
  }

  /** Whether each backend that the last look showed is one that a member reported. */
  boolean allClaimed() {
    return owner.size() == managed;
  }

  /**
   * Whether the last look showed any backend that may be this holding's: one that it reported, or
   * one of its role and database that no member claims and that was not a stray before.
   */
  boolean showsAnyOf(TenantId tenant, Holding holding) {
    if (owner.containsValue(holding)) {
      return true;
    }
    Place place = Place.of(tenant);
    return unclaimed.values().stream().anyMatch(u -> !u.settled && u.place.equals(place));
  }

  private static Map<Place, List<Member>> byPlace(Collection<Member> members) {
    Map<Place, List<Member>> residents = new HashMap<>();
    for (Member member : members) {
      member.holdings().keySet().stream()
          .map(Place::of)
          .distinct()
          .forEach(place -> residents.computeIfAbsent(place, p -> new ArrayList<>()).add(member));
    }
    return residents;
  }

  private static void forEachHolding(
      Collection<Member> members, BiConsumer<TenantId, Holding> action) {
    members.forEach(member -> member.ownHoldings().forEach(action));
  }
}
