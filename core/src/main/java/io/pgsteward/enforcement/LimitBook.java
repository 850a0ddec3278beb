package io.pgsteward.enforcement;

import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ObjIntConsumer;

/**
 * The connection limits of the managed roles, and what they count towards the budget (rule S4).
 *
 * <p>One sentence carries the promise: <em>until a look that began after a lowering was committed
 * has returned, the role counts at its old limit; afterwards at the larger of its limit and what
 * was seen.</em> A login that was let in by the old limit is visible to looks that begin after the
 * lowering, but for those in the moment between reading the limit and showing up, which the margin
 * covers.
 *
 * <p>Not thread-safe: owned by one coordinator.
 */
public final class LimitBook {

  private final Map<String, RoleLimit> roles = new TreeMap<>();

  /** The roles in the order of their names; a view. */
  public Collection<RoleLimit> roles() {
    return Collections.unmodifiableCollection(roles.values());
  }

  /**
   * Takes in a look at PostgreSQL.
   *
   * @param limits the limit of each managed role; roles that are missing exist no more
   * @param seen client connections by managed role; without one 0
   * @param startedNanos when the look began
   * @param endedNanos when it had returned
   * @return roles whose limit was changed by another hand since we wrote it
   */
  public Set<String> observed(
      Map<String, Integer> limits, Map<String, Integer> seen, long startedNanos, long endedNanos) {
    roles.keySet().retainAll(limits.keySet());
    Set<String> changed = new TreeSet<>();
    limits.forEach(
        (role, limit) -> {
          RoleLimit entry = roles.computeIfAbsent(role, r -> new RoleLimit(r, limit, endedNanos));
          if (entry.observed(limit, seen.getOrDefault(role, 0), startedNanos, endedNanos)) {
            changed.add(role);
          }
        });
    return changed;
  }

  /** These limits are about to be sent to PostgreSQL. */
  public void attempting(Map<String, Integer> limits) {
    each(limits, RoleLimit::attempting);
  }

  /**
   * These limits are in force.
   *
   * @param knownNanos when that was known; the commit was not later
   */
  public void committed(Map<String, Integer> limits, long knownNanos) {
    each(limits, (role, limit) -> role.committed(limit, knownNanos));
  }

  /** Sending these limits failed, or nobody knows what became of them. */
  public void unknown(Map<String, Integer> limits, long knownNanos) {
    each(limits, (role, limit) -> role.unknown(knownNanos));
  }

  private void each(Map<String, Integer> limits, ObjIntConsumer<RoleLimit> what) {
    limits.forEach(
        (name, limit) -> {
          RoleLimit role = roles.get(name);
          if (role != null) {
            what.accept(role, limit);
          }
        });
  }

  /** The limit in force of a role; 0 for one that PostgreSQL did not show. */
  public int limit(String role) {
    RoleLimit entry = roles.get(role);
    return entry == null ? 0 : entry.limit();
  }

  /** Whether PostgreSQL keeps a role to a limit, and is proven to. */
  public boolean isLimited(String role) {
    RoleLimit entry = roles.get(role);
    return entry != null && entry.counts() != Long.MAX_VALUE;
  }

  /** What all roles count together; {@link Long#MAX_VALUE} while one has no limit. */
  public long counts() {
    long sum = 0;
    for (RoleLimit role : roles.values()) {
      long counts = role.counts();
      if (counts == Long.MAX_VALUE) {
        return Long.MAX_VALUE;
      }
      sum += counts;
    }
    return sum;
  }

  /**
   * Whether a look that began then shows all that was let in before the limits that roles have now:
   * none was found or changed only since.
   */
  public boolean isProvenBy(long startedNanos) {
    return roles.values().stream().allMatch(role -> role.isProvenBy(startedNanos));
  }

  /** Whether a lowering waits for its proof. */
  public boolean awaitsProof() {
    return roles.values().stream().anyMatch(RoleLimit::awaitsProof);
  }
}
