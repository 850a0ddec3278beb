package io.pgsteward.protocol;

import java.util.List;

/**
 * What a member may hold on one instance. Answer to a {@link SyncRequest}. Immutable.
 *
 * @param version version of this message
 * @param instance the instance's name
 * @param epoch identifies the term of the leading coordinator; a later term has a larger one
 * @param generation grows with each change of this member's grants within an epoch; an answer is
 *     applied only if (epoch, generation) is newer than what was applied
 * @param phase what the coordinator knows
 * @param leaseMillis time for which the member is believed alive without being heard
 * @param parkMillis longest time for which the coordinator keeps a call open
 * @param budget what the whole system may open on the instance now; for error messages
 * @param granted sum of all grants on the instance; for error messages
 * @param tenants every grant of the member; a tenant left out has 0
 */
public record SyncResponse(
    int version,
    String instance,
    long epoch,
    long generation,
    CoordinatorPhase phase,
    long leaseMillis,
    long parkMillis,
    int budget,
    int granted,
    List<TenantGrant> tenants) {

  @SuppressWarnings("NullAway") // JSON leaves fields out
  public SyncResponse {
    instance = instance == null ? "" : instance;
    phase = phase == null ? CoordinatorPhase.SERVING : phase;
    tenants = tenants == null ? List.of() : List.copyOf(tenants);
    if (epoch <= 0 || generation <= 0 || leaseMillis <= 0 || parkMillis <= 0) {
      throw new IllegalArgumentException(
          "epoch, generation, leaseMillis and parkMillis are above 0, but they were "
              + epoch
              + ", "
              + generation
              + ", "
              + leaseMillis
              + " and "
              + parkMillis);
    }
  }
}
