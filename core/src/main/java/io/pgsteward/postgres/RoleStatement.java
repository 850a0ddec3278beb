package io.pgsteward.postgres;

import java.util.regex.Pattern;

/**
 * The statements that change something at PostgreSQL and cannot take their values as parameters. A
 * closed set: there is no way to build another one. {@link #sql} quotes identifiers in one place
 * and looks at the finished text once more, so that a mistake here changes a limit or nothing.
 */
sealed interface RoleStatement {

  /** The whole grammar of what may be sent. */
  Pattern ALLOWED =
      Pattern.compile("ALTER ROLE \"(?:[^\"\\x00]|\"\")+\" CONNECTION LIMIT (?:-1|[0-9]{1,6})");

  /**
   * Sets how many connections a role may have.
   *
   * @param limit -1 for no limit, or from 0 to 262,143, PostgreSQL's most
   */
  record AlterLimit(String role, int limit) implements RoleStatement {

    public AlterLimit {
      if (role.isEmpty() || role.indexOf(0) >= 0) {
        throw new IllegalArgumentException("not a role's name: \"" + role + "\"");
      }
      if (limit < -1 || limit > 262_143) {
        throw new IllegalArgumentException("not a connection limit: " + limit);
      }
    }

    @Override
    public String text() {
      return "ALTER ROLE " + quoted(role) + " CONNECTION LIMIT " + limit;
    }
  }

  /** The text before it was looked at. */
  String text();

  /**
   * The text to send.
   *
   * @throws IllegalStateException if it is not one of the statements that may be sent
   */
  default String sql() {
    String text = text();
    if (!ALLOWED.matcher(text).matches()) {
      throw new IllegalStateException("refused to send to PostgreSQL: " + text);
    }
    return text;
  }

  /** An identifier that PostgreSQL reads as exactly these characters. */
  static String quoted(String identifier) {
    return '"' + identifier.replace("\"", "\"\"") + '"';
  }
}
