package io.pgsteward.server.config;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads which roles of an instance are managed, and which policy each tenant has. */
final class PolicyReader {

  private PolicyReader() {}

  /**
   * The policies of an instance.
   *
   * @param user the coordinator's own role; empty if it is not known
   */
  static PolicyBook policies(Section instance, String user) {
    PolicyBook.Builder book = PolicyBook.builder();
    Section otherwise = instance.section("default");
    if (otherwise != null) {
      book.defaultPolicy(policy(otherwise));
    }
    for (Section.Text role : instance.texts("foreign")) {
      try {
        book.foreign(role.text());
      } catch (IllegalArgumentException e) {
        instance.problemAt(role, String.valueOf(e.getMessage()));
      }
    }
    if (!user.isEmpty()) {
      book.ownRole(user);
    }
    Section tenants = instance.section("tenants");
    if (tenants == null) {
      return book.build();
    }
    Map<TenantId, String> entries = tenants(tenants, book);
    PolicyBook policies = book.build();
    entries.forEach(
        (tenant, entry) -> {
          if (policies.policyOf(tenant) == null) {
            tenants.problem(entry, policies.refusalOf(tenant));
          }
        });
    return policies;
  }

  /** Enters the policies under {@code tenants}; returns the keys of those that name one tenant. */
  private static Map<TenantId, String> tenants(Section tenants, PolicyBook.Builder book) {
    Map<TenantId, String> exact = new HashMap<>();
    for (Section.Named entry : tenants.groups()) {
      TenantPolicy policy = policy(entry.group());
      try {
        book.tenant(entry.name(), policy);
        if (entry.name().indexOf('*') < 0) {
          exact.put(TenantId.parse(entry.name()), entry.name());
        }
      } catch (IllegalArgumentException e) {
        tenants.problem(entry.name(), String.valueOf(e.getMessage()));
      }
    }
    return exact;
  }

  private static TenantPolicy policy(Section section) {
    TenantPolicy otherwise = TenantPolicy.DEFAULT;
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

  /** The tenants that a token is for, or null when it is for all. */
  static @Nullable PolicyBook allowed(Section token) {
    List<Section.Text> tenants = token.texts("tenants");
    if (!token.has("tenants")) {
      return null;
    }
    if (token.value("tenants") instanceof YamlNode.Sequence list && list.items().isEmpty()) {
      token.problem("tenants", "is an empty list; name tenants, or leave the key out to allow all");
    }
    PolicyBook.Builder book = PolicyBook.builder();
    for (Section.Text tenant : tenants) {
      try {
        book.tenant(tenant.text(), TenantPolicy.DEFAULT);
      } catch (IllegalArgumentException e) {
        token.problemAt(tenant, String.valueOf(e.getMessage()));
      }
    }
    return book.build();
  }
}
