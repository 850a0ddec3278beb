package io.pgsteward.protocol;

import java.util.List;

/**
 * One tenant in a {@link SyncRequest}. Immutable.
 *
 * @param tenant the tenant's text, {@code role@database} or {@code role@database/label}
 * @param grant the limit that the member goes by for this tenant: its last grant, or {@code
 *     fallbackSlots}
 * @param demand slots it could use now: in use + waiting + opening, as the maximum over a short
 *     window
 * @param waiting threads that wait for a slot now
 * @param longestWaitMillis how long the first of them has waited; 0 when none waits
 * @param opening connections being opened
 * @param open connections open, idle or in use
 * @param closing connections being closed whose backend was not yet seen to exit
 * @param pids process ids of the backends of {@code open} and {@code closing}, as far as known
 */
public record TenantReport(
    String tenant,
    int grant,
    int demand,
    int waiting,
    long longestWaitMillis,
    int opening,
    int open,
    int closing,
    List<Integer> pids) {

  /** The largest {@code max_connections} that PostgreSQL takes; sums of figures stay exact. */
  public static final int MOST = 262_143;

  @SuppressWarnings("NullAway") // JSON leaves fields out
  public TenantReport {
    pids = pids == null ? List.of() : Elements.copyOf("pids", pids);
    if (tenant == null) {
      throw new IllegalArgumentException("a tenant's report names its tenant");
    }
    figure(tenant, "grant", grant, MOST);
    figure(tenant, "demand", demand, MOST);
    figure(tenant, "waiting", waiting, Integer.MAX_VALUE);
    figure(tenant, "longestWaitMillis", longestWaitMillis, Long.MAX_VALUE);
    figure(tenant, "opening", opening, MOST);
    figure(tenant, "open", open, MOST);
    figure(tenant, "closing", closing, MOST);
  }

  private static void figure(String tenant, String field, long value, long most) {
    if (value < 0) {
      throw new IllegalArgumentException(
          field + " of " + tenant + " may not be negative, but it is " + value);
    }
    if (value > most) {
      throw new IllegalArgumentException(
          field
              + " of "
              + tenant
              + " may not be above "
              + most
              + ", PostgreSQL's most connections, but it is "
              + value);
    }
  }

  /** Physical connections of the member for the tenant: opening + open + closing. */
  public int held() {
    return opening + open + closing;
  }
}
