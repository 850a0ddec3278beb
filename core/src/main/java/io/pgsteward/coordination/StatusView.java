package io.pgsteward.coordination;

import io.pgsteward.budget.Budget;
import io.pgsteward.ledger.Holding;
import io.pgsteward.ledger.Ledger;
import io.pgsteward.ledger.Member;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.StatusResponse.BudgetStatus;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.MemberStatus;
import io.pgsteward.protocol.StatusResponse.MemberTenantStatus;
import io.pgsteward.protocol.StatusResponse.StrayStatus;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Renders a coordinator's state for operators. Without the lead it knows of no member, whatever it
 * remembers of an earlier term: the one that leads shows them. Made for one call; reads and changes
 * nothing.
 */
final class StatusView {

  private static final class Sums {
    long demand;
    long granted;
    long held;
    long waiting;
  }

  private final CoordinatorSettings settings;
  private final Ledger ledger;
  private final Enforcer enforcer;
  private final Map<TenantId, Integer> unmet;
  private final long now;

  StatusView(
      CoordinatorSettings settings,
      Ledger ledger,
      Enforcer enforcer,
      Map<TenantId, Integer> unmet,
      long now) {
    this.settings = settings;
    this.ledger = ledger;
    this.enforcer = enforcer;
    this.unmet = unmet;
    this.now = now;
  }

  InstanceStatus instance(
      CoordinatorPhase phase,
      long epoch,
      @Nullable String leader,
      @Nullable Budget budget,
      long lookAgeNanos,
      @Nullable String lookError) {
    boolean leads = phase != CoordinatorPhase.STANDBY;
    long granted = leads ? ledger.granted() : 0;
    return new InstanceStatus(
        settings.instance().value(),
        phase,
        leads ? epoch : 0,
        leader,
        budget(budget),
        Saturated.toInt(granted),
        leads ? Saturated.toInt(ledger.counted() - granted) : 0,
        leads ? strays() : List.of(),
        enforcer.sentence(),
        lookAgeNanos < 0 ? -1 : lookAgeNanos / 1_000_000,
        lookError,
        tenants(leads ? ledger.members() : List.of()),
        leads ? members() : List.of());
  }

  private BudgetStatus budget(@Nullable Budget budget) {
    if (budget == null) {
      return new BudgetStatus(0, 0, 0, 0, settings.margin(), 0, 0);
    }
    return new BudgetStatus(
        budget.total(),
        budget.limits().maxConnections(),
        budget.limits().superuserReserved() + budget.limits().reserved(),
        budget.foreignPeak(),
        budget.margin(),
        budget.heldBack(),
        budget.deficit());
  }

  private List<StrayStatus> strays() {
    List<StrayStatus> strays = new ArrayList<>();
    ledger
        .strays()
        .forEach((at, count) -> strays.add(new StrayStatus(at.get(0), at.get(1), count)));
    return strays;
  }

  private List<TenantStatus> tenants(Collection<Member> members) {
    Map<TenantId, Sums> sums = new TreeMap<>();
    for (Member member : members) {
      member
          .holdings()
          .forEach(
              (tenant, holding) -> {
                Sums sum = sums.computeIfAbsent(tenant, t -> new Sums());
                sum.demand += holding.report().demand();
                sum.granted += holding.grant();
                sum.held += holding.report().held();
                sum.waiting += holding.report().waiting();
              });
    }
    // Exactly named tenants are shown also while nobody uses them.
    settings.policies().exactTenants().forEach(t -> sums.computeIfAbsent(t, x -> new Sums()));
    List<TenantStatus> tenants = new ArrayList<>(sums.size());
    sums.forEach((tenant, sum) -> tenants.add(tenant(tenant, sum)));
    return tenants;
  }

  private TenantStatus tenant(TenantId tenant, Sums sum) {
    TenantPolicy known = settings.policies().policyOf(tenant);
    TenantPolicy policy = known == null ? TenantPolicy.NOTHING : known;
    return new TenantStatus(
        tenant.toString(),
        policy.guarantee(),
        policy.max() == TenantPolicy.NO_MAX ? null : policy.max(),
        policy.weight(),
        Saturated.toInt(sum.demand),
        Saturated.toInt(sum.granted),
        Saturated.toInt(sum.held),
        Saturated.toInt(sum.waiting),
        unmet.getOrDefault(tenant, 0),
        enforcer.limit(tenant.role()));
  }

  private List<MemberStatus> members() {
    List<MemberStatus> members = new ArrayList<>();
    for (Member member : ledger.members()) {
      List<MemberTenantStatus> tenants = new ArrayList<>();
      for (Map.Entry<TenantId, Holding> entry : member.holdings().entrySet()) {
        Holding holding = entry.getValue();
        tenants.add(
            new MemberTenantStatus(
                entry.getKey().toString(),
                holding.report().demand(),
                holding.grant(),
                holding.report().held(),
                holding.report().waiting()));
      }
      members.add(
          new MemberStatus(
              member.id().value(),
              member.name(),
              member.address(),
              member.phase(),
              (now - member.heardNanos()) / 1_000_000,
              tenants));
    }
    return members;
  }
}
