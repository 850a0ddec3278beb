package io.pgsteward.server;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.StrayStatus;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why a tenant has as many slots as it has, in sentences.
 *
 * @param instance where it is
 * @param tenant one of the instance's
 */
record Explanation(InstanceStatus instance, TenantStatus tenant) {

  private static final int NAMED = 8;

  List<String> lines() {
    List<String> lines = new ArrayList<>();
    lines.add(
        instance.id()
            + ": "
            + Table.printable(tenant.tenant())
            + " has "
            + count(tenant.granted(), "slot")
            + " and demand for "
            + tenant.demand());
    lines.add("  holds        " + tenant.held() + ", waiting threads " + tenant.waiting());
    lines.add(
        "  policy       guarantee "
            + tenant.guarantee()
            + ", max "
            + (tenant.max() == null ? "none" : tenant.max())
            + ", weight "
            + tenant.weight());
    lines.add("  role limit   " + roleLimit());
    lines.add(
        "  budget       "
            + instance.budget().total()
            + ", granted "
            + instance.granted()
            + ", still held beyond that "
            + instance.stillHeld()
            + ", strays "
            + strays());
    lines.add("  others       " + others());
    lines.add("  so           " + reason());
    return lines;
  }

  private String roleLimit() {
    @Nullable Integer limit = tenant.roleLimit();
    if (limit == null) {
      return "none is kept: " + instance.enforcement();
    }
    String role = Table.printable(TenantId.parse(tenant.tenant()).role());
    return limit < 0
        ? "none yet"
        : limit
            + ": PostgreSQL refuses role "
            + role
            + " more connections than that"
            + (limit == 0 ? ", a person's psql too" : "");
  }

  private int strays() {
    return instance.strays() == null
        ? 0
        : instance.strays().stream().mapToInt(StrayStatus::count).sum();
  }

  private String others() {
    List<TenantStatus> others =
        instance.tenants().stream()
            .filter(one -> one.granted() > 0 && !one.tenant().equals(tenant.tenant()))
            .sorted(
                Comparator.comparingInt(TenantStatus::granted)
                    .reversed()
                    .thenComparing(TenantStatus::tenant))
            .toList();
    if (others.isEmpty()) {
      return "hold nothing";
    }
    List<String> named = new ArrayList<>();
    for (TenantStatus other : others.subList(0, Math.min(NAMED, others.size()))) {
      named.add(
          Table.printable(other.tenant())
              + " "
              + other.granted()
              + " (guarantee "
              + other.guarantee()
              + ")");
    }
    return String.join(", ", named)
        + (others.size() > NAMED ? " and " + (others.size() - NAMED) + " more" : "");
  }

  private String reason() {
    if (instance.phase() == CoordinatorPhase.STANDBY) {
      return "this coordinator does not lead the instance and grants nothing; "
          + (instance.leader() == null ? "no leader is known" : "ask " + instance.leader());
    }
    if (tenant.granted() >= tenant.demand()) {
      return "it has all that it wants";
    }
    String wants = "it wants " + (tenant.demand() - tenant.granted()) + " more, ";
    @Nullable Integer max = tenant.max();
    if (max != null && tenant.granted() >= max) {
      return wants + "but has its max";
    }
    if (instance.phase() == CoordinatorPhase.LEARNING) {
      return wants
          + "and waits for the coordinator to have heard from every member, a lease at most";
    }
    int used = instance.granted() + instance.stillHeld() + strays();
    int free = instance.budget().total() - used;
    if (free <= 0) {
      return wants
          + "but the budget is full; "
          + (tenant.unmetGuarantee() > 0
              ? tenant.unmetGuarantee() + " of them are of its guarantee, which others give back"
              : "beyond guarantees slots are shared by weight, and it waits for its turn");
    }
    @Nullable Integer limit = tenant.roleLimit();
    if (limit != null && limit >= 0 && tenant.granted() >= limit) {
      return wants + "and waits for its role's limit to be raised";
    }
    return wants
        + "and "
        + count(free, "slot")
        + " of the budget "
        + (free == 1 ? "is" : "are")
        + " free, so they are on their way";
  }

  private static String count(int number, String what) {
    return number + " " + what + (number == 1 ? "" : "s");
  }
}
