package io.pgsteward.coordination;

import io.pgsteward.allocation.Allocation;
import io.pgsteward.allocation.Allocator;
import io.pgsteward.allocation.Claim;
import io.pgsteward.allocation.MemberSplit;
import io.pgsteward.allocation.MemberSplit.MemberClaim;
import io.pgsteward.allocation.SlotClock;
import io.pgsteward.ledger.Holding;
import io.pgsteward.ledger.Ledger;
import io.pgsteward.ledger.Member;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;

/**
 * Turns demand into grants: allocates the budget to tenants, splits each tenant's slots over its
 * members, and moves the ledger there without ever counting more than the budget.
 *
 * <p>Lowerings are written at once. Raises take only what is free, that is the budget less
 * everything that lowered grants may still hold (rule S3), so a plan is reached over several calls
 * while slots come back. Not thread-safe.
 */
final class GrantPlanner {

  /**
   * What one call came to.
   *
   * @param raisableRoles roles of which a raise waits only for the proof that this coordinator
   *     leads
   */
  record Outcome(Map<TenantId, Integer> unmetGuarantees, Set<String> raisableRoles) {}

  /** One holding of a member that is heard. */
  private record Seat(Member member, Holding holding) {}

  /** A tenant for the time of one call. */
  private static final class Account {
    final TenantId tenant;
    final TenantPolicy policy;
    final SlotClock clock;
    final List<Seat> seats = new ArrayList<>();
    // Sums over members: see Saturated.
    long silent;
    long demand;
    long granted;
    long kept;

    Account(TenantId tenant, TenantPolicy policy, SlotClock clock) {
      this.tenant = tenant;
      this.policy = policy;
      this.clock = clock;
    }
  }

  /** A tenant that is to be raised: largest relative deficit first, floors before all else. */
  private static final class Raise {
    final Account account;
    final int[] targets;
    final int target;
    final long waitedNanos;
    long granted;
    long blocked;

    Raise(Account account, int[] targets, int target, long waitedNanos) {
      this.account = account;
      this.targets = targets;
      this.target = target;
      this.waitedNanos = waitedNanos;
      this.granted = account.granted + account.silent;
    }

    /** Slots that are still to be granted. */
    long missing() {
      long missing = 0;
      for (int i = 0; i < targets.length; i++) {
        missing += Math.max(0, targets[i] - account.seats.get(i).holding.grant());
      }
      return missing;
    }

    boolean belowFloor() {
      return granted < Math.min(account.policy.guarantee(), target);
    }
  }

  private static final Comparator<Raise> NEXT =
      Comparator.comparing(Raise::belowFloor)
          .reversed()
          .thenComparing(GrantPlanner::largestRelativeDeficitFirst)
          .thenComparing(Comparator.comparingLong((Raise r) -> r.waitedNanos).reversed())
          .thenComparing(r -> r.account.tenant);

  private final PolicyBook policies;
  private final Allocator allocator;
  private final MemberSplit split;
  private final Map<TenantId, SlotClock> clocks = new HashMap<>();

  GrantPlanner(PolicyBook policies) {
    this.policies = policies;
    long residence = CoordinatorSettings.MIN_RESIDENCE.toNanos();
    this.allocator = new Allocator(residence);
    this.split = new MemberSplit(residence);
  }

  /**
   * Moves the ledger towards the best allocation of {@code capacity}.
   *
   * @param capacity the budget less strays; below 0 counts as 0
   * @param mayRaise false if it was not just proved that this coordinator leads
   * @param room what PostgreSQL's role limits leave; raises go no further
   */
  Outcome plan(Ledger ledger, int capacity, boolean mayRaise, LimitRoom room, long now) {
    Collection<Account> accounts = accounts(ledger, now);
    Allocation allocation = allocator.allocate(Math.max(0, capacity), claims(accounts, now));
    int[] slots = allocation.slots();
    int[] unmetFloors = allocation.unmetGuarantees();
    List<Raise> raises = new ArrayList<>();
    Map<TenantId, Integer> unmet = new TreeMap<>();
    int i = 0;
    for (Account account : accounts) {
      int target = slots[i];
      if (unmetFloors[i] > 0) {
        unmet.put(account.tenant, unmetFloors[i]);
      }
      int[] targets = split(account, target, now);
      lower(ledger, account, targets, now);
      if (wantsRaise(account, targets)) {
        raises.add(new Raise(account, targets, target, account.clock.waitedNanos(now)));
      }
      i++;
    }
    long free = capacity - ledger.counted();
    if (mayRaise) {
      raise(ledger, raises, free, room, now);
    }
    noteGrants(accounts, now);
    Set<String> raisable = new HashSet<>();
    if (!mayRaise && free >= 0) {
      raises.stream()
          .filter(raise -> free > 0 || fitsCounted(raise))
          .forEach(raise -> raisable.add(raise.account.tenant.role()));
    }
    return new Outcome(unmet, raisable);
  }

  private Collection<Account> accounts(Ledger ledger, long now) {
    Map<TenantId, Account> accounts = new TreeMap<>();
    for (Member member : ledger.members()) {
      boolean silent = ledger.isSilent(member, now);
      member
          .holdings()
          .forEach(
              (tenant, holding) -> {
                Account account = accounts.computeIfAbsent(tenant, this::account);
                if (silent) {
                  // What it counts stays where it is (rule S6).
                  account.silent += holding.counted();
                } else {
                  account.seats.add(new Seat(member, holding));
                  account.demand += member.leaving() ? 0 : holding.report().demand();
                  account.granted += holding.grant();
                  account.kept += keepNext(member, holding, now);
                }
              });
    }
    clocks.keySet().retainAll(accounts.keySet());
    return accounts.values();
  }

  private Account account(TenantId tenant) {
    TenantPolicy policy = policies.policyOf(tenant);
    return new Account(
        tenant,
        policy == null ? TenantPolicy.NOTHING : policy,
        clocks.computeIfAbsent(tenant, t -> new SlotClock()));
  }

  private static int keepNext(Member member, Holding holding, long now) {
    return member.leaving()
        ? 0
        : holding.keepNext(
            now, CoordinatorSettings.IDLE_HOLD.toNanos(), CoordinatorSettings.IDLE_ROUND.toNanos());
  }

  private static List<Claim> claims(Collection<Account> accounts, long now) {
    List<Claim> claims = new ArrayList<>(accounts.size());
    for (Account account : accounts) {
      account.clock.note(Saturated.toInt(account.granted), Saturated.toInt(account.demand), now);
      claims.add(
          new Claim(
              account.tenant,
              account.policy,
              Saturated.toInt(account.demand + account.silent),
              Saturated.toInt(account.granted + account.silent),
              Saturated.toInt(account.kept + account.silent),
              account.clock.waitedNanos(now),
              account.clock.residedNanos(now)));
    }
    return claims;
  }

  private int[] split(Account account, int slots, long now) {
    List<MemberClaim> claims = new ArrayList<>(account.seats.size());
    for (Seat seat : account.seats) {
      Holding holding = seat.holding;
      claims.add(
          new MemberClaim(
              seat.member.id(),
              seat.member.leaving() ? 0 : holding.report().demand(),
              holding.grant(),
              seat.member.leaving() ? 0 : holding.grant(),
              holding.clock().waitedNanos(now),
              holding.clock().residedNanos(now)));
    }
    return split.split((int) Math.max(0, slots - account.silent), claims);
  }

  private static void lower(Ledger ledger, Account account, int[] targets, long now) {
    for (int i = 0; i < targets.length; i++) {
      Seat seat = account.seats.get(i);
      if (targets[i] < seat.holding.grant()) {
        account.granted -= seat.holding.grant() - targets[i];
        ledger.grant(seat.member, seat.holding, targets[i], now);
      }
    }
  }

  private static boolean wantsRaise(Account account, int[] targets) {
    for (int i = 0; i < targets.length; i++) {
      if (targets[i] > account.seats.get(i).holding.grant()) {
        return true;
      }
    }
    return false;
  }

  private boolean fitsCounted(Raise raise) {
    for (int i = 0; i < raise.targets.length; i++) {
      Holding holding = raise.account.seats.get(i).holding;
      if (Math.min(raise.targets[i], holding.counted()) > holding.grant()) {
        return true;
      }
    }
    return false;
  }

  private static void raise(
      Ledger ledger, List<Raise> raises, long free, LimitRoom room, long now) {
    if (free < 0) {
      return; // more is counted than there is: nothing rises before it fits again
    }
    PriorityQueue<Raise> queue = new PriorityQueue<>(NEXT);
    for (Raise raise : raises) {
      // What a lowered grant may still hold can be given back to it without counting anything.
      for (int i = 0; i < raise.targets.length; i++) {
        Seat seat = raise.account.seats.get(i);
        int within = Math.min(raise.targets[i], seat.holding.counted());
        within = room.capped(raise.account.tenant, within);
        if (within > seat.holding.grant()) {
          raise.granted += within - seat.holding.grant();
          ledger.grant(seat.member, seat.holding, within, now);
        }
      }
      queue.add(raise);
    }
    long left = free;
    while (left > 0 && !queue.isEmpty()) {
      Raise next = queue.poll();
      int seat = neediestSeat(next);
      if (seat < 0 || next.blocked >= next.missing()) {
        continue;
      }
      // What finds no room under its role's limit keeps its place in the budget all the same.
      left--;
      next.granted++;
      if (room.take(next.account.tenant)) {
        Holding holding = next.account.seats.get(seat).holding;
        ledger.grant(next.account.seats.get(seat).member, holding, holding.grant() + 1, now);
      } else {
        next.blocked++;
      }
      queue.add(next);
    }
  }

  private static int neediestSeat(Raise raise) {
    int neediest = -1;
    for (int i = 0; i < raise.targets.length; i++) {
      Holding holding = raise.account.seats.get(i).holding;
      if (holding.grant() < raise.targets[i]
          && (neediest < 0
              || (long) holding.grant() * raise.targets[neediest]
                  < (long) raise.account.seats.get(neediest).holding.grant() * raise.targets[i])) {
        neediest = i;
      }
    }
    return neediest;
  }

  /** granted / target, compared exactly by cross multiplication. */
  private static int largestRelativeDeficitFirst(Raise a, Raise b) {
    return Long.compare(a.granted * b.target, b.granted * a.target);
  }

  private static void noteGrants(Collection<Account> accounts, long now) {
    for (Account account : accounts) {
      long granted = 0;
      for (Seat seat : account.seats) {
        granted += seat.holding.grant();
      }
      account.clock.note(Saturated.toInt(granted), Saturated.toInt(account.demand), now);
    }
  }
}
