package io.pgsteward.protocol;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One tenant in a {@link SyncResponse}. Immutable.
 *
 * @param tenant the tenant's text
 * @param grant how many slots the member may hold for the tenant
 * @param refused why the coordinator will never grant this tenant anything under its present
 *     configuration, or null
 * @param tenantGranted what all members together are granted for the tenant
 * @param tenantMax the tenant's max; null when only the budget limits it
 * @param gone process ids of the member's last report that PostgreSQL no longer shows: what the
 *     member could not see end has ended
 */
public record TenantGrant(
    String tenant,
    int grant,
    @Nullable String refused,
    int tenantGranted,
    @Nullable Integer tenantMax,
    List<Integer> gone) {

  @SuppressWarnings("NullAway") // JSON leaves fields out
  public TenantGrant {
    if (tenant == null || grant < 0) {
      throw new IllegalArgumentException(
          "a grant names its tenant and is at least 0, but it was " + tenant + ": " + grant);
    }
    gone = gone == null ? List.of() : List.copyOf(gone);
  }

  /** A grant under which nothing is known to be gone. */
  public TenantGrant(
      String tenant,
      int grant,
      @Nullable String refused,
      int tenantGranted,
      @Nullable Integer tenantMax) {
    this(tenant, grant, refused, tenantGranted, tenantMax, List.of());
  }
}
