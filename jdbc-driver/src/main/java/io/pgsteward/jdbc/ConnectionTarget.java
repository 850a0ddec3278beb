package io.pgsteward.jdbc;

import io.pgsteward.model.TenantId;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGProperty;

/**
 * Where physical connections go and with what parameters, as pgjdbc itself reads it. Immutable.
 *
 * @param tenant role and database that pgjdbc will log in with, and our label
 * @param url {@code jdbc:postgresql://host:port,.../database} and nothing more; what stood in the
 *     URL as a parameter, or in a service file, is among the properties or in its place here
 * @param properties what pgjdbc is given beside the URL: role, password and the rest
 * @param hosts {@code host:port} in the order in which pgjdbc tries them; never empty
 * @param readOnly whether connections are read-only as they are handed out
 * @param openTimeout the longest that one opening lasts by pgjdbc's own timeouts, over all hosts;
 *     zero if they set no limit
 */
record ConnectionTarget(
    TenantId tenant,
    String url,
    Map<String, String> properties,
    List<String> hosts,
    boolean readOnly,
    Duration openTimeout) {

  private static final Set<String> IN_URL =
      Set.of(
          PGProperty.PG_HOST.getName(),
          PGProperty.PG_PORT.getName(),
          PGProperty.PG_DBNAME.getName());

  ConnectionTarget {
    properties = Map.copyOf(properties);
    hosts = List.copyOf(hosts);
  }

  /**
   * Reads what pgjdbc made of the URL and the properties.
   *
   * @param effective the result of {@code org.postgresql.Driver.parseURL}
   * @param label our label for the tenant, or null
   * @throws IllegalArgumentException if role or database make no tenant, or a timeout is no number
   */
  static ConnectionTarget read(Properties effective, @Nullable String label) {
    String role = textOf(PGProperty.USER, effective);
    if (role.isEmpty()) {
      throw new IllegalArgumentException("user is empty; name the login role");
    }
    String database = textOf(PGProperty.PG_DBNAME, effective);
    TenantId tenant = new TenantId(role, database.isEmpty() ? role : database, label);
    List<String> hosts = hosts(effective);
    return new ConnectionTarget(
        tenant,
        "jdbc:postgresql://"
            + String.join(",", hosts)
            + "/"
            + URLEncoder.encode(tenant.database(), StandardCharsets.UTF_8),
        withoutAddress(effective),
        hosts,
        PGProperty.READ_ONLY.getBoolean(effective),
        openTimeout(effective, hosts.size()));
  }

  private static Map<String, String> withoutAddress(Properties effective) {
    Map<String, String> rest = new HashMap<>();
    for (String name : effective.stringPropertyNames()) {
      if (!IN_URL.contains(name)) {
        rest.put(name, Objects.requireNonNull(effective.getProperty(name)));
      }
    }
    return rest;
  }

  private static List<String> hosts(Properties effective) {
    String[] names = textOf(PGProperty.PG_HOST, effective).split(",", -1);
    String[] ports = textOf(PGProperty.PG_PORT, effective).split(",", -1);
    List<String> hosts = new ArrayList<>();
    for (int i = 0; i < names.length; i++) {
      hosts.add(names[i] + ":" + ports[Math.min(i, ports.length - 1)]);
    }
    return hosts;
  }

  private static Duration openTimeout(Properties effective, int hosts) {
    Duration perHost = seconds(PGProperty.CONNECT_TIMEOUT, effective);
    Duration login = seconds(PGProperty.LOGIN_TIMEOUT, effective);
    Duration all = perHost.multipliedBy(hosts);
    if (login.isZero()) {
      return all;
    }
    return all.isZero() || login.compareTo(all) < 0 ? login : all;
  }

  private static Duration seconds(PGProperty property, Properties effective) {
    String text = textOf(property, effective);
    try {
      double seconds = text.isBlank() ? 0 : Double.parseDouble(text);
      return Duration.ofMillis(Math.max(0, Math.min((long) (seconds * 1000), 86_400_000L)));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          property.getName() + " is a number of seconds, but it was \"" + text + "\"", e);
    }
  }

  private static String textOf(PGProperty property, Properties effective) {
    String text = property.getOrDefault(effective);
    return text == null ? "" : text;
  }

  /** Whether these are the role and the password that connections log in with. */
  boolean hasCredentials(@Nullable String role, @Nullable String password) {
    return tenant.role().equals(role)
        && Objects.equals(properties.get(PGProperty.PASSWORD.getName()), password);
  }

  /** What the application calls its connections, or null. */
  @Nullable String applicationName() {
    return properties.get(PGProperty.APPLICATION_NAME.getName());
  }

  /** The properties as pgjdbc takes them; a new object on each call. */
  Properties pgjdbcProperties() {
    Properties copy = new Properties();
    copy.putAll(properties);
    return copy;
  }

  /** The properties without what is secret. */
  Map<String, String> shownProperties() {
    Map<String, String> shown = new HashMap<>(properties);
    shown.replaceAll((name, value) -> name.endsWith("password") ? "***" : value);
    return shown;
  }

  @Override
  public String toString() {
    return tenant + " at " + url + " with " + shownProperties();
  }
}
