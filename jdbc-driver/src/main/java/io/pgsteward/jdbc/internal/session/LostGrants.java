package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.TenantId;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tenants that were about to open a connection and held none after their lease had ended: at that
 * moment their grant was lost (rule S7). A pool asks under its own lock, before it opens; the book
 * is told at the next turn. Takes no lock; thread-safe.
 *
 * <p>A loss that comes while limits are on their way from the book to the pools would be undone by
 * them: the pool lowers itself to {@code fallbackSlots}, is then told the grant that it has just
 * lost, and opens connections for it, which another member may have by now. So between {@link
 * #tell} and {@link #applied} a pool that loses its grant opens nothing; the session sees {@link
 * #isAnyUntold} at the end of the turn and takes another one at once, which brings the {@code
 * fallbackSlots}. A loss at any other time may wait for a turn: the pool keeps to {@code
 * fallbackSlots} by itself, and nothing raises it before the book is told.
 */
final class LostGrants {

  private final MemberClock clock;
  private final Map<TenantId, Long> emptied = new ConcurrentHashMap<>();
  private volatile Lease lease;
  private volatile boolean applying;

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
    emptied.put(tenant, last.serial()); // before it looks: tell() sets the mark first, then reads
    return applying ? 0 : fallbackSlots;
  }

  /**
   * Tells the book how late it is and what was lost since the last time; its limits are on their
   * way to the pools from now on. The clock is read after the losses, so that the book cannot take
   * a lease for valid that a loss has seen ended.
   *
   * @return whether the lease ended with it
   */
  boolean tell(GrantBook book) {
    applying = true;
    Map<TenantId, Long> lost = Map.copyOf(emptied);
    boolean ended = book.passed(clock.now());
    lost.forEach(
        (tenant, serial) -> {
          emptied.remove(tenant, serial);
          book.emptied(tenant, serial);
        });
    return ended;
  }

  /** The limits have reached the pools. */
  void applied() {
    applying = false;
  }

  /** Whether a grant was lost that the book was not told of. */
  boolean isAnyUntold() {
    return !emptied.isEmpty();
  }
}
