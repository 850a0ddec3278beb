package io.pgsteward.server.config;

import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads tenant policies and the names that they are given for. */
final class PolicyReader {

  private PolicyReader() {}

  /** The policy under {@code default}, or null when it is left out: other tenants are refused. */
  static @Nullable TenantPolicy otherwise(Section instance) {
    Section section = instance.section("default");
    return section == null ? null : policy(section, TenantPolicy.DEFAULT);
  }

  /** The policies under {@code tenants} by the names as written. */
  static Map<String, TenantPolicy> tenants(Section instance) {
    Map<String, TenantPolicy> policies = new LinkedHashMap<>();
    Section tenants = instance.section("tenants");
    if (tenants == null) {
      return policies;
    }
    for (Section.Named tenant : tenants.groups()) {
      String reason = whyNoTenant(tenant.name());
      if (reason != null) {
        tenants.problem(tenant.name(), reason);
      }
      policies.put(tenant.name(), policy(tenant.group(), TenantPolicy.DEFAULT));
    }
    return policies;
  }

  private static TenantPolicy policy(Section section, TenantPolicy otherwise) {
    int guarantee = section.number("guarantee", otherwise.guarantee(), 0, Integer.MAX_VALUE);
    int max = section.number("max", otherwise.max(), 0, Integer.MAX_VALUE);
    int weight = section.number("weight", otherwise.weight(), 1, TenantPolicy.LARGEST_WEIGHT);
    section.finish();
    if (guarantee > max) {
      section.problem(
          "guarantee", "must be at most max, but it is " + guarantee + " and max is " + max);
      guarantee = max;
    }
    return new TenantPolicy(guarantee, max, weight);
  }

  /** Why a text is neither a tenant nor a pattern of tenants, or null if it is one. */
  static @Nullable String whyNoTenant(String text) {
    try {
      TenantId.parse(text.replace('*', 'x'));
      return null;
    } catch (IllegalArgumentException e) {
      return "must be role@database or role@database/label, where * stands for any characters and"
          + " @ / * % inside a name are written %40 %2F %2A %25";
    }
  }

  /** Why a text is neither a role nor a pattern of roles, or null if it is one. */
  static @Nullable String whyNoRole(String text) {
    return text.indexOf('@') >= 0 || text.indexOf('/') >= 0 || whyNoTenant(text + "@x") != null
        ? "must be a role, where * stands for any characters and @ / * % inside the name are written"
            + " %40 %2F %2A %25"
        : null;
  }
}
