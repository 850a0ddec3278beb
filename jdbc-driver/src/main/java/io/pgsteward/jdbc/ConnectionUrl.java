package io.pgsteward.jdbc;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A JDBC URL taken apart: the settings that are ours, the secrets, and a pgjdbc URL with all the
 * rest exactly as it was written. pgjdbc itself reads that rest, so that we never disagree about
 * it; only the words for what is malformed are ours, since pgjdbc answers a malformed URL with
 * null. Immutable.
 *
 * @param pgjdbcUrl starts with {@code jdbc:postgresql:}; holds no secret
 * @param settings the text of each setting of ours
 * @param secrets pgjdbc parameters whose value is secret, secrets out of the URL so that no log of
 *     the URL shows them; pgjdbc takes them as properties all the same
 * @param otherNames names of the parameters left in the URL
 */
record ConnectionUrl(
    String pgjdbcUrl,
    Map<Setting, String> settings,
    Map<String, String> secrets,
    List<String> otherNames) {

  static final String PREFIX = "jdbc:pgsteward:";
  private static final String PGJDBC_PREFIX = "jdbc:postgresql:";
  private static final List<String> SECRETS = List.of("password", "sslpassword");

  ConnectionUrl {
    settings = Map.copyOf(settings);
    secrets = Map.copyOf(secrets);
    otherNames = List.copyOf(otherNames);
  }

  /**
   * Takes a URL apart.
   *
   * @param problems is told, in sentences without secrets, what is wrong with the URL
   * @return null if the URL cannot be used; then at least one problem was told
   */
  static @Nullable ConnectionUrl parse(String url, Consumer<String> problems) {
    int question = url.indexOf('?');
    String server = question < 0 ? url : url.substring(0, question);
    String rest = rest(server, problems);
    if (rest == null) {
      return null;
    }
    String malformed = malformed(rest);
    if (malformed != null) {
      problems.accept("url " + malformed + ": " + shown(url));
      return null;
    }
    Parameters parameters = new Parameters();
    if (question >= 0) {
      for (String parameter : url.substring(question + 1).split("&")) {
        parameters.take(parameter, problems);
      }
    }
    String query = String.join("&", parameters.kept);
    return new ConnectionUrl(
        PGJDBC_PREFIX + rest + (query.isEmpty() ? "" : "?" + query),
        parameters.settings,
        parameters.secrets,
        parameters.otherNames);
  }

  /** What follows the prefix. */
  private static @Nullable String rest(String server, Consumer<String> problems) {
    if (server.startsWith(PGJDBC_PREFIX)) {
      return server.substring(PGJDBC_PREFIX.length());
    }
    if (!server.startsWith(PREFIX)) {
      problems.accept(
          "url starts with jdbc:pgsteward: or jdbc:postgresql:, but it was " + shown(server));
      return null;
    }
    String rest = server.substring(PREFIX.length());
    if (rest.startsWith("postgresql:")) {
      problems.accept(
          "url "
              + shown(server)
              + " has one prefix too many: write "
              + shown(PREFIX + rest.substring("postgresql:".length())));
      return null;
    }
    return rest;
  }

  /** What is wrong with {@code //host:port,.../database} by the rules of pgjdbc, or null. */
  private static @Nullable String malformed(String rest) {
    if (!rest.startsWith("//")) {
      return rest.startsWith("/")
          ? "has one slash where //host/database or a database alone is expected"
          : undecodable("database", rest);
    }
    if (rest.equals("//") || rest.equals("///")) {
      return null;
    }
    String address = rest.substring(2);
    int slash = address.indexOf('/');
    String hosts = slash < 0 ? address : address.substring(0, slash);
    if (hosts.indexOf('@') >= 0) {
      return "names a user before the host; write ?user=...&password=... after the database";
    }
    if (slash < 0) {
      return "has no / after the host; write host/database";
    }
    if (address.indexOf('/', slash + 1) >= 0) {
      return "has more than one / after the host; a / inside the name of a database is %2F";
    }
    for (String host : hosts.split(",")) {
      String problem = malformedHost(host);
      if (problem != null) {
        return problem;
      }
    }
    return undecodable("database", address.substring(slash + 1));
  }

  private static @Nullable String malformedHost(String host) {
    int colon = host.lastIndexOf(':');
    if (colon < 0 || host.lastIndexOf(']') > colon) {
      return null;
    }
    if (host.indexOf(':') != colon && host.indexOf('[') < 0) {
      return "has an IPv6 address without brackets; write [" + host + "]";
    }
    String port = host.substring(colon + 1);
    try {
      int number = Integer.parseInt(port);
      if (number >= 1 && number <= 65535) {
        return null;
      }
    } catch (NumberFormatException e) {
      // Told below, together with numbers that no port has.
    }
    return "has the port \"" + port + "\"; a port is a number from 1 to 65535";
  }

  private static @Nullable String undecodable(String what, String text) {
    try {
      decode(text);
      return null;
    } catch (IllegalArgumentException e) {
      return "has a % in the " + what + " that no two hexadecimal digits follow; write %25";
    }
  }

  /** Decodes as pgjdbc does: the form encoding, in which + is a space. */
  private static String decode(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }

  /** The URL without its parameters and without anything before an @, for messages. */
  static String shown(String url) {
    int question = url.indexOf('?');
    String server = question < 0 ? url : url.substring(0, question);
    int at = server.lastIndexOf('@');
    int slashes = server.indexOf("//");
    if (at >= 0) {
      int from = slashes >= 0 && slashes < at ? slashes + 2 : 0;
      server = server.substring(0, from) + "..." + server.substring(at);
    }
    return "\"" + server + (question < 0 ? "" : "?...") + "\"";
  }

  /** The parameters of one URL while they are sorted. */
  private static final class Parameters {
    final Map<Setting, String> settings = new EnumMap<>(Setting.class);
    final Map<String, String> secrets = new LinkedHashMap<>();
    final List<String> otherNames = new ArrayList<>();
    final List<String> kept = new ArrayList<>();

    void take(String parameter, Consumer<String> problems) {
      if (parameter.isEmpty()) {
        return;
      }
      int equals = parameter.indexOf('=');
      String name = equals < 0 ? parameter : parameter.substring(0, equals);
      String text = equals < 0 ? "" : parameter.substring(equals + 1);
      String value;
      try {
        value = decode(text);
      } catch (IllegalArgumentException e) {
        problems.accept(
            "url parameter " + name + " has a % that no two hexadecimal digits follow; write %25");
        return;
      }
      Setting setting = Setting.named(name);
      if (setting != null) {
        if (settings.put(setting, value) != null) {
          problems.accept("url parameter " + name + " is given twice");
        }
      } else if (SECRETS.contains(name)) {
        secrets.put(name, value);
      } else {
        otherNames.add(name);
        kept.add(parameter);
      }
    }
  }

  /** Never shows a secret. */
  @Override
  public String toString() {
    return pgjdbcUrl + " " + Arrays.toString(settings.keySet().toArray());
  }
}
