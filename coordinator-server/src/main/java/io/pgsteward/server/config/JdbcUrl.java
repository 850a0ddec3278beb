package io.pgsteward.server.config;

import java.util.regex.Pattern;

/**
 * What is looked at before pgjdbc sees a URL: pgjdbc takes user info for a part of the host, and
 * logs what it cannot read, secrets included. Stateless.
 */
final class JdbcUrl {

  private static final String ADDRESS = "(\\[[^\\[\\]]*]|[^\\[\\]:,/%]*)(:[0-9]{1,5})?";

  private static final Pattern WELL_FORMED =
      Pattern.compile("jdbc:postgresql:(//" + ADDRESS + "(," + ADDRESS + ")*/)?[^/]*");

  /** An @ in plain or percent-encoded, in the part that names hosts. */
  private static final Pattern AT_A_HOST = Pattern.compile("jdbc:postgresql://[^/]*(@|%40).*");

  private JdbcUrl() {}

  /**
   * Whether a user, and perhaps a password, stands before an @. An @ in a parameter is none, unless
   * the URL is malformed: then it may be the end of a password with a question mark in it.
   */
  static boolean hasUserInfo(String url) {
    String address = withoutParameters(url);
    return url.startsWith("jdbc:postgresql:")
        && (address.contains("@")
            || AT_A_HOST.matcher(address).matches()
            || (!isWellFormed(url) && url.contains("@")));
  }

  /** Whether pgjdbc can read hosts, ports and database; it may refuse the parameters. */
  static boolean isWellFormed(String url) {
    return WELL_FORMED.matcher(withoutParameters(url)).matches();
  }

  private static String withoutParameters(String url) {
    int at = url.indexOf('?');
    return at < 0 ? url : url.substring(0, at);
  }
}
