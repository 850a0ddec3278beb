package io.pgsteward.coordination;

import io.pgsteward.postgres.LimitRights;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.Observation;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The roles of the simulated PostgreSQL with their connection limits, and what must hold of them
 * (rule S4): once each has a limit, their sum never rises above the budget.
 */
final class WorldRoles {

  private static final int UNLIMITED = -1;

  /** A look and a change take less. */
  private static final long SETTLES_NANOS = 300_000_000;

  private final Map<String, Integer> limits = new TreeMap<>();
  private boolean adopted;
  private int sumBefore;
  private int budget;
  private long settlingSince;

  WorldRoles(Collection<String> roles) {
    roles.forEach(role -> limits.put(role, UNLIMITED));
  }

  /** Whether PostgreSQL lets one more in. */
  boolean admits(String role, long live) {
    int limit = limits.getOrDefault(role, 0);
    return limit == UNLIMITED || live < limit;
  }

  Observation.Roles look(long endedNanos) {
    List<LoginRole> all =
        limits.entrySet().stream()
            .map(role -> new LoginRole(role.getKey(), false, role.getValue(), true))
            .toList();
    return new Observation.Roles(all, LimitRights.FUNCTION, endedNanos);
  }

  /** A transaction that changes limits commits. */
  void set(Map<String, Integer> changes) {
    limits.putAll(changes);
    int sum = sum();
    if (adopted && sum > budget && sum > sumBefore) {
      throw new AssertionError(
          "limits " + limits + " after " + changes + ", before " + sumBefore + " of " + budget);
    }
    sumBefore = sum;
    adopted |= !limits.containsValue(UNLIMITED) && sum <= budget;
  }

  int sum() {
    return limits.values().stream().mapToInt(Integer::intValue).sum();
  }

  /**
   * Once limits and connections fit a budget, and the lowering that made them fit is proven,
   * PostgreSQL keeps them within it, whoever logs in.
   */
  void check(long now, int total, int live) {
    boolean settled = now - settlingSince > SETTLES_NANOS;
    boolean same = total == budget && adopted;
    budget = total;
    if (settled && same && live > total) {
      throw new AssertionError(live + " connections on a budget of " + total);
    }
    if (!same || (!settled && (sum() > total || live > total))) {
      settlingSince = now;
    }
  }
}
