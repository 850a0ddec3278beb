package io.pgsteward.protocol;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Body of {@code GET /v1/status}: each instance as its coordinator sees it. Immutable. */
public record StatusResponse(List<InstanceStatus> instances) {

  @SuppressWarnings("NullAway") // JSON leaves fields out
  public StatusResponse {
    instances = instances == null ? List.of() : List.copyOf(instances);
  }

  /**
   * One instance.
   *
   * @param id its name in the configuration
   * @param phase what the coordinator knows
   * @param epoch the term of this coordinator; 0 while it does not lead
   * @param leader address of the coordinator that leads, or null if none is known
   * @param budget the budget with its parts
   * @param granted sum of all grants
   * @param stillHeld what lowered grants may still hold beyond them
   * @param strays connections of managed roles that no member has reported
   * @param enforcement what protects the budget, in one sentence
   * @param observationAgeMillis time since the last good look at PostgreSQL began; -1 before it
   * @param observationError why the last look failed, or null
   */
  public record InstanceStatus(
      String id,
      CoordinatorPhase phase,
      long epoch,
      @Nullable String leader,
      BudgetStatus budget,
      int granted,
      int stillHeld,
      List<StrayStatus> strays,
      String enforcement,
      long observationAgeMillis,
      @Nullable String observationError,
      List<TenantStatus> tenants,
      List<MemberStatus> members) {}

  /**
   * The budget: total = maxConnections - reserved - foreignPeak - margin - heldBack, never below 0.
   *
   * @param total what the whole system may open on the instance now
   * @param maxConnections the server's setting
   * @param reserved superuser_reserved_connections + reserved_connections
   * @param foreignPeak most foreign connections seen in the last 60 s
   * @param margin connections kept free
   * @param heldBack what is not given out yet, since a full window of foreign connections has not
   *     been seen
   * @param deficit by how much the parts pass maxConnections; 0 when they fit
   */
  public record BudgetStatus(
      int total,
      int maxConnections,
      int reserved,
      int foreignPeak,
      int margin,
      int heldBack,
      int deficit) {}

  /** Connections of one managed role in one database that no member has reported. */
  public record StrayStatus(String role, String database, int count) {}

  /**
   * One tenant.
   *
   * @param max null when only the budget limits it
   * @param held what its members reported as held
   * @param unmetGuarantee slots of the guarantee that it has demand for and cannot be granted
   * @param roleLimit the role's connection limit as PostgreSQL has it; null without enforcement
   */
  public record TenantStatus(
      String tenant,
      int guarantee,
      @Nullable Integer max,
      int weight,
      int demand,
      int granted,
      int held,
      int waiting,
      int unmetGuarantee,
      @Nullable Integer roleLimit) {}

  /**
   * One member.
   *
   * @param lastHeardMillis time since its last report
   */
  public record MemberStatus(
      String id,
      String name,
      String address,
      MemberPhase phase,
      long lastHeardMillis,
      List<MemberTenantStatus> tenants) {}

  /** One tenant at one member. */
  public record MemberTenantStatus(String tenant, int demand, int granted, int held, int waiting) {}
}
