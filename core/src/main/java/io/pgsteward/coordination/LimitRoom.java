package io.pgsteward.coordination;

import io.pgsteward.model.TenantId;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * How many more slots the limits in force leave to the members of each role, during one round. What
 * finds no room is remembered, in the order in which it was asked for. Not thread-safe.
 */
final class LimitRoom {

  private final ToLongFunction<String> limits;
  private final Map<String, Long> used;
  private final Map<String, Integer> blocked = new LinkedHashMap<>();

  private LimitRoom(ToLongFunction<String> limits, Map<String, Long> used) {
    this.limits = limits;
    this.used = used;
  }

  /** Room for everything: no limits are enforced. */
  static LimitRoom endless() {
    return new LimitRoom(role -> Long.MAX_VALUE, new HashMap<>());
  }

  /** Room for nothing. */
  static LimitRoom none() {
    return new LimitRoom(role -> 0, new HashMap<>());
  }

  /**
   * The room of this round.
   *
   * @param limits the limit in force of a role
   * @param used what its members may hold, and its strays
   */
  static LimitRoom within(ToLongFunction<String> limits, Map<String, Long> used) {
    return new LimitRoom(limits, new HashMap<>(used));
  }

  /** Takes room for one more slot of the tenant, if there is. */
  boolean take(TenantId tenant) {
    long already = used.getOrDefault(tenant.role(), 0L);
    if (already >= limits.applyAsLong(tenant.role())) {
      blocked.merge(tenant.role(), 1, Integer::sum);
      return false;
    }
    used.put(tenant.role(), already + 1);
    return true;
  }

  /** A grant of one member for the tenant, as far as the role's limit alone allows it. */
  int capped(TenantId tenant, int grant) {
    return (int) Math.min(grant, limits.applyAsLong(tenant.role()));
  }

  /** Slots that found no room, by role. */
  Map<String, Integer> blocked() {
    return blocked;
  }
}
