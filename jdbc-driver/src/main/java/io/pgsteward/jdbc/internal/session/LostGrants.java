package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.TenantId;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tenants that were about to open a connection and held none after their lease had ended: at that
 * moment their grant was lost (rule S7). A pool asks under its own lock, before it opens; the book
 * is told at the next turn. Takes no lock; thread-safe.
 */
final class LostGrants {

  private final MemberClock clock;
  private final Map<TenantId, Long> emptied = new ConcurrentHashMap<>();
  private volatile Lease lease;

  LostGrants(MemberClock clock, Lease lease) {
    this.clock = clock;
    this.lease = lease;
  }

  /** The lease that counts from now on. */
  void renewed(Lease last) {
    lease = last;
  }

  /** What a pool that holds nothing and goes by {@code limit} goes by from now on. */
  int limitFromEmpty(TenantId tenant, int limit, int fallbackSlots) {
    Lease last = lease;
    if (last.nanos() == 0 || limit <= fallbackSlots || !last.endedAt(clock.now())) {
      return limit;
    }
    emptied.put(tenant, last.serial());
    return fallbackSlots;
  }

  /** Tells the book what was lost since the last time. */
  void tell(GrantBook book) {
    emptied.forEach(
        (tenant, serial) -> {
          emptied.remove(tenant, serial);
          book.emptied(tenant, serial);
        });
  }
}
