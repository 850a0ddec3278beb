package io.pgsteward.model;

import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/**
 * A role and a database on an instance, with a label when one role serves several uses there: the
 * unit of policy and of a pool. Immutable.
 *
 * <p>Its text is {@code role@database} or {@code role@database/label}. Inside the three names the
 * characters {@code @ / * %} and control characters are percent-encoded, so that every name that
 * PostgreSQL allows has one text and {@link #parse} and {@link #toString} are inverse.
 *
 * @param role the login role; never empty
 * @param database the database; never empty
 * @param label the use, or null when the role has one use; never empty
 */
public record TenantId(String role, String database, @Nullable String label)
    implements Comparable<TenantId> {

  private static final Comparator<TenantId> ORDER =
      Comparator.comparing(TenantId::role)
          .thenComparing(TenantId::database)
          .thenComparing(t -> t.label() == null ? "" : t.label());

  public TenantId {
    if (role.isEmpty() || database.isEmpty() || (label != null && label.isEmpty())) {
      throw new IllegalArgumentException(
          "a tenant is role@database or role@database/label with no empty name, but it was role \""
              + role
              + "\", database \""
              + database
              + "\""
              + (label == null ? "" : ", label \"" + label + "\""));
    }
  }

  /** A tenant without a label. */
  public static TenantId of(String role, String database) {
    return new TenantId(role, database, null);
  }

  /**
   * Reads {@code role@database} or {@code role@database/label}.
   *
   * @throws IllegalArgumentException if the text has another form; the message quotes it
   */
  public static TenantId parse(String text) {
    int at = text.indexOf('@');
    if (at < 0 || text.indexOf('@', at + 1) >= 0) {
      throw malformed(text);
    }
    int slash = text.indexOf('/');
    if (slash >= 0 && (slash < at || text.indexOf('/', slash + 1) >= 0)) {
      throw malformed(text);
    }
    String role = text.substring(0, at);
    String database = slash < 0 ? text.substring(at + 1) : text.substring(at + 1, slash);
    String label = slash < 0 ? null : text.substring(slash + 1);
    try {
      return new TenantId(decode(role), decode(database), label == null ? null : decode(label));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(malformed(text).getMessage() + ": " + e.getMessage(), e);
    }
  }

  private static IllegalArgumentException malformed(String text) {
    return new IllegalArgumentException(
        "a tenant is written role@database or role@database/label (@ / * % inside a name as %40 %2F"
            + " %2A %25), but it was \""
            + text
            + "\"");
  }

  @Override
  public int compareTo(TenantId other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    String text = encode(role) + "@" + encode(database);
    return label == null ? text : text + "/" + encode(label);
  }

  private static String encode(String name) {
    StringBuilder text = new StringBuilder(name.length() + 8);
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c == '@' || c == '/' || c == '*' || c == '%' || c < ' ' || c == 0x7f) {
        text.append('%')
            .append(Character.toUpperCase(Character.forDigit(c >> 4, 16)))
            .append(Character.toUpperCase(Character.forDigit(c & 0xf, 16)));
      } else {
        text.append(c);
      }
    }
    return text.toString();
  }

  /** Undoes the percent-encoding of a name. */
  static String decode(String text) {
    if (text.indexOf('%') < 0) {
      return text;
    }
    byte[] in = text.getBytes(StandardCharsets.UTF_8);
    byte[] out = new byte[in.length];
    int length = 0;
    for (int i = 0; i < in.length; i++) {
      if (in[i] != '%') {
        out[length++] = in[i];
        continue;
      }
      int high = i + 2 < in.length ? Character.digit(in[i + 1], 16) : -1;
      int low = i + 2 < in.length ? Character.digit(in[i + 2], 16) : -1;
      if (high < 0 || low < 0) {
        throw new IllegalArgumentException("a % is followed by two hexadecimal digits");
      }
      out[length++] = (byte) (high << 4 | low);
      i += 2;
    }
    return new String(out, 0, length, StandardCharsets.UTF_8);
  }
}
