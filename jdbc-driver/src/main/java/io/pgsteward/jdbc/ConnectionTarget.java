package io.pgsteward.jdbc;

import io.pgsteward.model.TenantId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGProperty;

/**
 * Where physical connections go and with what parameters, as pgjdbc itself reads it. Immutable.
 *
 * @param tenant role and database that pgjdbc will log in with, and our label
 * @param url a {@code jdbc:postgresql:} URL without secrets
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

  ConnectionTarget {
    properties = Map.copyOf(properties);
    hosts = List.copyOf(hosts);
  }

  /**
   * Reads what pgjdbc made of the URL and the properties.
   *
   * @param effective the result of {@code org.postgresql.Driver.parseURL}
   * @throws IllegalArgumentException if role or database make no tenant, or a timeout is no number
   */
  static ConnectionTarget read(
      String url, Map<String, String> properties, Properties effective, @Nullable String label) {
    String role = textOf(PGProperty.USER, effective);
    if (role.isEmpty()) {
      throw new IllegalArgumentException("user is empty; name the login role");
    }
    String database = textOf(PGProperty.PG_DBNAME, effective);
    TenantId tenant = new TenantId(role, database.isEmpty() ? role : database, label);
    List<String> hosts = hosts(effective);
    return new ConnectionTarget(
        tenant,
        url,
        properties,
        hosts,
        PGProperty.READ_ONLY.getBoolean(effective),
        openTimeout(effective, hosts.size()));
  }

  private static List<String> hosts(Properties effective) {
    String[] names = textOf(PGProperty.PG_HOST, effective).split(",");
    String[] ports = textOf(PGProperty.PG_PORT, effective).split(",");
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
