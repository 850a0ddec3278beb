package io.pgsteward.server;

import io.pgsteward.budget.Budget;
import io.pgsteward.enforcement.LimitPlanner.Need;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.LimitRights;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.Observation;
import io.pgsteward.server.config.InstanceConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a look at PostgreSQL means to somebody who knows the configuration and no member: nothing is
 * granted, and what is connected is all that there is. Immutable.
 *
 * @param look the look, with the roles
 * @param roles what the look showed of them
 * @param budget as it is now: foreign connections count as they are, not at their peak
 * @param limits the connection limit of each managed role; -1 without one
 * @param seen connections of managed roles; a role without one is missing
 * @param guarantees sums by role, of the tenants that are entered without a star
 */
record Sight(
    Observation look,
    Observation.Roles roles,
    Budget budget,
    Map<String, Integer> limits,
    Map<String, Integer> seen,
    Map<String, Integer> guarantees) {

  static Sight of(InstanceConfig instance, Observation look) {
    Observation.Roles roles = look.roles();
    if (roles == null) {
      throw new IllegalArgumentException("the look shows no roles");
    }
    PolicyBook policies = instance.policies();
    int foreign = 0;
    Map<String, Integer> seen = new TreeMap<>();
    for (Backend backend : look.backends()) {
      String role = backend.role();
      if (role == null
          || backend.pid() == look.ownPid()
          || !policies.manages(role, backend.superuser())) {
        foreign++;
      } else {
        seen.merge(role, 1, Integer::sum);
      }
    }
    Map<String, Integer> limits = new TreeMap<>();
    for (LoginRole role : roles.all()) {
      if (policies.manages(role.name(), role.superuser())) {
        limits.put(role.name(), role.limit());
      }
    }
    return new Sight(
        look,
        roles,
        new Budget(look.limits(), foreign, instance.margin(), 0),
        limits,
        seen,
        guarantees(policies));
  }

  private static Map<String, Integer> guarantees(PolicyBook policies) {
    Map<String, Integer> guarantees = new TreeMap<>();
    for (TenantId tenant : policies.exactTenants()) {
      TenantPolicy policy = policies.policyOf(tenant);
      if (policy != null && policy.guarantee() > 0) {
        guarantees.merge(tenant.role(), policy.guarantee(), Integer::sum);
      }
    }
    return guarantees;
  }

  /** What each managed role needs. */
  List<Need> needs() {
    List<Need> needs = new ArrayList<>();
    limits.keySet().forEach(role -> needs.add(new Need(role, 0, 0, guarantee(role))));
    return needs;
  }

  int guarantee(String role) {
    return guarantees.getOrDefault(role, 0);
  }

  /** Why limits cannot be kept; empty if they can. */
  List<String> obstacles() {
    List<String> obstacles = new ArrayList<>();
    if (roles.rights() == LimitRights.NONE) {
      obstacles.add(
          "the coordinator's role may change no connection limit; run what setup-sql prints as a"
              + " superuser");
    }
    for (LoginRole role : roles.all()) {
      if (!limits.containsKey(role.name())) {
        continue;
      }
      if (role.superuser()) {
        obstacles.add(
            "managed role "
                + role.name()
                + " is a superuser, whom PostgreSQL holds to no limit; take the right away or"
                + " declare it foreign");
      } else if (!role.alterable() && roles.rights() != LimitRights.NONE) {
        obstacles.add(
            "the coordinator may not change the limit of managed role "
                + role.name()
                + "; run what setup-sql prints again, or declare it foreign");
      }
    }
    return obstacles;
  }

  /** The sum of all limits, in words. */
  String sum() {
    long sum = 0;
    for (int limit : limits.values()) {
      if (limit < 0) {
        return "no limit";
      }
      sum += limit;
    }
    return Long.toString(sum);
  }

  /** The budget with its parts, in words. */
  String budgetInWords() {
    return "budget "
        + budget.total()
        + " (max_connections "
        + budget.limits().maxConnections()
        + ", reserved "
        + (budget.limits().superuserReserved() + budget.limits().reserved())
        + ", foreign now "
        + budget.foreignPeak()
        + ", margin "
        + budget.margin()
        + ")";
  }
}
