package io.pgsteward.postgres;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The {@code application_name} of a coordinator's session, {@code pgsteward <address> <hash>}, by
 * which other coordinators learn who leads and whether it runs with the same configuration.
 * Immutable.
 *
 * @param address where the coordinator is reached, as far as an application name has room for it;
 *     an address that was cut ends with a tilde
 * @param hash a short hash of what two coordinators of one instance must agree on, at most 16
 *     characters
 */
record SessionName(String address, String hash) {

  /** PostgreSQL keeps that many bytes of an application name. */
  private static final int LONGEST = 63;

  private static final int LONGEST_HASH = 16;

  private static final Pattern FORM = Pattern.compile("pgsteward (\\S+) (\\S+)");

  /** An address that can be asked: no {@code local-pid-}, no URL, and not cut short. */
  private static final Pattern HOST_AND_PORT = Pattern.compile("[\\w.\\[\\]:-]+:\\d{1,5}");

  /**
   * A name of its own.
   *
   * @throws IllegalArgumentException if one of them is empty or has white space
   */
  static SessionName of(String address, String hash) {
    String kept = hash.substring(0, Math.min(LONGEST_HASH, hash.length()));
    int room = LONGEST - "pgsteward  ".length() - kept.length();
    String shown = address.length() <= room ? address : address.substring(0, room - 1) + "~";
    SessionName name = new SessionName(shown, kept);
    if (!FORM.matcher(name.toString()).matches()) {
      throw new IllegalArgumentException(
          "address and hash of a coordinator are words without white space, but they were \""
              + address
              + "\" and \""
              + hash
              + "\"");
    }
    return name;
  }

  /** The name that a session shows, or null if it is no coordinator's. */
  static @Nullable SessionName parse(String applicationName) {
    Matcher name = FORM.matcher(applicationName);
    return name.matches() ? new SessionName(name.group(1), name.group(2)) : null;
  }

  /** The address as {@code host:port} if one can be reached there, or null. */
  @Nullable String reachable() {
    return HOST_AND_PORT.matcher(address).matches() ? address : null;
  }

  /** The name as PostgreSQL keeps it. */
  @Override
  public String toString() {
    return "pgsteward " + address + " " + hash;
  }
}
