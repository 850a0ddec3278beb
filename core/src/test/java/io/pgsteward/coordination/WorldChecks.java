package io.pgsteward.coordination;

import io.pgsteward.budget.Budget;
import io.pgsteward.coordination.World.Participant;
import io.pgsteward.ledger.Holding;
import io.pgsteward.ledger.Member;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What must hold in the simulated world after every event: no member holds more than the ledger
 * counts for it, except a silent one under a role limit; nothing rises while more is counted than
 * the budget; without role limits no more is counted than the budget except by its own shrinking,
 * with them PostgreSQL itself keeps to it.
 */
final class WorldChecks {

  private final List<TenantId> tenants;
  private final @Nullable WorldRoles roles;
  private long countedBefore;
  private Map<MemberId, Integer> grantsBefore = new HashMap<>();

  /**
   * @param roles null without role limits
   */
  WorldChecks(List<TenantId> tenants, @Nullable WorldRoles roles) {
    this.tenants = tenants;
    this.roles = roles;
  }

  /** Another coordinator has begun to count. */
  void restarted() {
    countedBefore = 0;
  }

  void check(
      Coordinator coordinator, Collection<Participant> participants, int backends, long now) {
    Budget budget = coordinator.budget();
    int most = budget == null ? 0 : budget.total();
    if (roles != null) {
      roles.check(now, most, backends);
    }
    coordinator.checkInvariants();
    long counted = coordinator.ledger().counted();
    if (coordinator.phase() != CoordinatorPhase.LEARNING) {
      participants.forEach(one -> checkHeld(coordinator, one, now));
      if (roles == null && counted > most && counted > countedBefore) {
        throw new AssertionError("counted " + counted + " of a budget of " + most);
      }
    }
    countedBefore = counted;
    checkRaises(coordinator, counted, most);
  }

  private void checkHeld(Coordinator coordinator, Participant one, long now) {
    Member known = coordinator.ledger().member(one.id);
    if (roles != null && (known == null || coordinator.ledger().isSilent(known, now))) {
      return; // only its role's limit bounds it (rule S6)
    }
    for (TenantId tenant : tenants) {
      Holding holding = known == null ? null : known.holdings().get(tenant);
      int counted = holding == null ? 0 : holding.counted();
      if (one.count(tenant) > counted) {
        throw new AssertionError(
            one.id + " holds " + one.count(tenant) + " of " + tenant + ", counted " + counted);
      }
    }
  }

  /** Who comes back is believed what it goes by; of the others nobody rises. */
  private void checkRaises(Coordinator coordinator, long counted, int most) {
    Map<MemberId, Integer> before = grantsBefore;
    grantsBefore = new HashMap<>();
    if (coordinator.phase() == CoordinatorPhase.LEARNING) {
      return;
    }
    int raised = 0;
    for (Member member : coordinator.ledger().members()) {
      int granted = member.holdings().values().stream().mapToInt(Holding::grant).sum();
      grantsBefore.put(member.id(), granted);
      raised += granted - before.getOrDefault(member.id(), granted);
    }
    if (counted > most && raised > 0) {
      throw new AssertionError("raised " + raised + ", counted " + counted + " of " + most);
    }
  }
}
