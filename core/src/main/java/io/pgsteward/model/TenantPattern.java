package io.pgsteward.model;

import org.jspecify.annotations.Nullable;

/**
 * A tenant's text in which names may have stars: {@code role@database} or {@code
 * role@database/label}. Immutable.
 *
 * @param text as it was written
 * @param label null matches only tenants without a label
 */
record TenantPattern(
    String text, NamePattern role, NamePattern database, @Nullable NamePattern label) {

  /**
   * @throws IllegalArgumentException if the text has another form; the message quotes it
   */
  static TenantPattern parse(String text) {
    int at = text.indexOf('@');
    int slash = text.indexOf('/');
    boolean one = at > 0 && text.indexOf('@', at + 1) < 0;
    boolean ordered = slash < 0 || (slash > at && text.indexOf('/', slash + 1) < 0);
    if (!one || !ordered) {
      throw malformed(text, "it has another form");
    }
    try {
      return new TenantPattern(
          text,
          NamePattern.parse(text.substring(0, at)),
          NamePattern.parse(text.substring(at + 1, slash < 0 ? text.length() : slash)),
          slash < 0 ? null : NamePattern.parse(text.substring(slash + 1)));
    } catch (IllegalArgumentException e) {
      throw malformed(text, String.valueOf(e.getMessage()));
    }
  }

  private static IllegalArgumentException malformed(String text, String why) {
    return new IllegalArgumentException(
        "a tenant entry is role@database or role@database/label, * in a name standing for any"
            + " characters (@ / * % themselves as %40 %2F %2A %25), but it was \""
            + text
            + "\": "
            + why);
  }

  /** The one tenant that it matches, or null if a name has a star. */
  @Nullable TenantId exact() {
    if (!role.isExact() || !database.isExact() || (label != null && !label.isExact())) {
      return null;
    }
    return new TenantId(role.name(), database.name(), label == null ? null : label.name());
  }

  boolean matches(TenantId tenant) {
    String its = tenant.label();
    boolean labelFits = label == null ? its == null : its != null && label.matches(its);
    return labelFits && role.matches(tenant.role()) && database.matches(tenant.database());
  }

  /** How many characters of the names are given: more is more specific. */
  int given() {
    return role.given() + database.given() + (label == null ? 0 : label.given());
  }
}
