package io.pgsteward.model;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which policy each tenant has on an instance, and which roles are managed there. Immutable and
 * thread-safe.
 *
 * <p><b>Policies.</b> An entry without a star goes before every pattern. Of several patterns that
 * match, the one with more given characters wins, and among equals the one entered first. An entry
 * without a label speaks of tenants without a label only; {@code role@database/*} speaks of all
 * with one. A tenant that no entry matches has the default policy, or is refused if there is none.
 *
 * <p><b>Managed roles.</b> A role that a foreign pattern matches is never managed. With a default
 * every other role is, without one those that an entry matches. A superuser and the coordinator's
 * own role are foreign unless an entry names them without a star: nobody puts his administrators
 * under management by a pattern that happens to match.
 */
public final class PolicyBook {

  private record Entry(TenantPattern pattern, TenantPolicy policy) {}

  private final Map<TenantId, TenantPolicy> exact;
  private final List<Entry> patterns;
  private final @Nullable TenantPolicy defaultPolicy;
  private final Foreign foreign;
  private final @Nullable String ownRole;
  private final Set<String> namedRoles = new HashSet<>();
  private final List<NamePattern> rolePatterns = new ArrayList<>();

  private PolicyBook(Builder builder) {
    this.exact = Collections.unmodifiableMap(new LinkedHashMap<>(builder.exact));
    this.patterns = new ArrayList<>(builder.patterns);
    this.patterns.sort((a, b) -> b.pattern.given() - a.pattern.given());
    this.defaultPolicy = builder.defaultPolicy;
    this.foreign = new Foreign(builder.foreign);
    this.ownRole = builder.ownRole;
    exact.keySet().forEach(tenant -> namedRoles.add(tenant.role()));
    for (Entry entry : patterns) {
      NamePattern role = entry.pattern.role();
      if (role.isExact()) {
        namedRoles.add(role.name());
      } else {
        rolePatterns.add(role);
      }
    }
  }

  /** An empty book to write into. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The book of a process that coordinates for itself: its role is managed, whatever it is, and
   * every tenant of that role has the default policy. All other roles are foreign.
   */
  public static PolicyBook ofRole(String role) {
    String encoded = TenantId.of(role, "x").toString();
    String entry = encoded.substring(0, encoded.indexOf('@'));
    return builder()
        .tenant(entry + "@*", TenantPolicy.DEFAULT)
        .tenant(entry + "@*/*", TenantPolicy.DEFAULT)
        .build();
  }

  /** The tenant's policy, or null if the tenant is refused; {@link #refusalOf} tells why. */
  public @Nullable TenantPolicy policyOf(TenantId tenant) {
    if (foreign.matching(tenant.role()) != null) {
      return null;
    }
    TenantPolicy named = exact.get(tenant);
    if (named != null) {
      return named;
    }
    for (Entry entry : patterns) {
      if (entry.pattern.matches(tenant)) {
        return isOwn(tenant.role()) ? null : entry.policy;
      }
    }
    return isOwn(tenant.role()) ? null : defaultPolicy;
  }

  /**
   * Why a tenant is refused, and what to do about it.
   *
   * @throws IllegalArgumentException if it is not refused
   */
  public String refusalOf(TenantId tenant) {
    if (policyOf(tenant) != null) {
      throw new IllegalArgumentException(tenant + " is not refused");
    }
    String pattern = foreign.matching(tenant.role());
    if (pattern != null) {
      return "role "
          + tenant.role()
          + " is declared foreign by \""
          + pattern
          + "\" in the coordinator's configuration, so its connections are not managed; take it out"
          + " of foreign or connect as another role";
    }
    if (isOwn(tenant.role())) {
      return "role "
          + tenant.role()
          + " is the coordinator's own; connect as another role, or name it in an entry of its own";
    }
    return "the coordinator's configuration has no entry that matches tenant "
        + tenant
        + " and no default policy; add an entry for it or a default";
  }

  /**
   * Whether connections of a role are managed, so that they are members' or strays, rather than
   * foreign.
   */
  public boolean manages(String role, boolean superuser) {
    if (foreign.matching(role) != null) {
      return false;
    }
    if (namedRoles.contains(role)) {
      return true;
    }
    if (superuser || role.equals(ownRole)) {
      return false;
    }
    return defaultPolicy != null || rolePatterns.stream().anyMatch(p -> p.matches(role));
  }

  /** Whether a role is declared foreign by name or pattern. */
  public boolean declaresForeign(String role) {
    return foreign.matching(role) != null;
  }

  /** The same as {@link #manages}, for PostgreSQL. */
  public ManagedRoles managedRoles() {
    List<String> expressions = new ArrayList<>();
    rolePatterns.forEach(pattern -> expressions.add(pattern.regex()));
    if (defaultPolicy != null) {
      expressions.add("^.*$");
    }
    return new ManagedRoles(
        namedRoles.stream().sorted().toList(),
        expressions,
        foreign.patterns.values().stream().map(NamePattern::regex).toList(),
        ownRole);
  }

  /** The tenants that are entered without a star, in the order of entry. */
  public Collection<TenantId> exactTenants() {
    return exact.keySet();
  }

  /** The policy of tenants that no entry matches; null refuses them. */
  public @Nullable TenantPolicy defaultPolicy() {
    return defaultPolicy;
  }

  private boolean isOwn(String role) {
    return role.equals(ownRole) && !namedRoles.contains(role);
  }

  /** Roles that are never managed, in the order in which they were declared. */
  private static final class Foreign {

    private final Map<String, NamePattern> patterns;

    Foreign(Map<String, NamePattern> patterns) {
      this.patterns = new LinkedHashMap<>(patterns);
    }

    @Nullable String matching(String role) {
      for (Map.Entry<String, NamePattern> entry : patterns.entrySet()) {
        if (entry.getValue().matches(role)) {
          return entry.getKey();
        }
      }
      return null;
    }
  }

  /** Collects the entries of a book. Not thread-safe. */
  public static final class Builder {

    private final Map<TenantId, TenantPolicy> exact = new LinkedHashMap<>();
    private final List<Entry> patterns = new ArrayList<>();
    private final Map<String, NamePattern> foreign = new LinkedHashMap<>();
    private @Nullable TenantPolicy defaultPolicy;
    private @Nullable String ownRole;

    private Builder() {}

    /**
     * Adds an entry.
     *
     * @param entry {@code role@database} or {@code role@database/label}, {@code *} in a name
     *     standing for any characters
     * @throws IllegalArgumentException if the text has another form or was entered before
     */
    public Builder tenant(String entry, TenantPolicy policy) {
      TenantPattern pattern = TenantPattern.parse(entry);
      TenantId tenant = pattern.exact();
      boolean again =
          tenant == null
              ? patterns.stream().anyMatch(e -> e.pattern.text().equals(entry))
              : exact.putIfAbsent(tenant, policy) != null;
      if (again) {
        throw new IllegalArgumentException("tenant entry \"" + entry + "\" is there twice");
      }
      if (tenant == null) {
        patterns.add(new Entry(pattern, policy));
      }
      return this;
    }

    /** Sets the policy of tenants that no entry matches; without it they are refused. */
    public Builder defaultPolicy(TenantPolicy policy) {
      this.defaultPolicy = policy;
      return this;
    }

    /**
     * Declares a role foreign.
     *
     * @param role its name, {@code *} standing for any characters
     * @throws IllegalArgumentException if the text is empty or wrongly encoded
     */
    public Builder foreign(String role) {
      foreign.put(role, NamePattern.parse(role));
      return this;
    }

    /** Sets the coordinator's own role, which is foreign unless an entry names it. */
    public Builder ownRole(String role) {
      this.ownRole = role;
      return this;
    }

    public PolicyBook build() {
      return new PolicyBook(this);
    }
  }
}
