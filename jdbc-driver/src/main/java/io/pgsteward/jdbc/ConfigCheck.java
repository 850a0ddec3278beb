package io.pgsteward.jdbc;

import io.pgsteward.jdbc.PgStewardConfig.Unparsed;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/**
 * The rules of a configuration, in one place. Gathers each setting from the URL, the setters and
 * the properties, and every problem on the way. Used once, by one thread.
 */
final class ConfigCheck {

  /** HikariCP's settings that mean nothing where the size is granted or pgjdbc is fixed. */
  private static final Set<String> WITHOUT_MEANING =
      Set.of(
          "minimumIdle",
          "connectionTestQuery",
          "dataSourceClassName",
          "driverClassName",
          "initializationFailTimeout",
          "isolateInternalQueries",
          "allowPoolSuspension",
          "registerMbeans",
          "catalog");

  private static final Set<String> PRIMARY = Set.of("primary", "master");

  private final @Nullable String url;
  private final @Nullable String username;
  private final @Nullable String password;
  private final Map<Setting, Object> given;
  private final Properties properties;

  private final List<String> problems = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();
  private final Map<Setting, Object> values = new EnumMap<>(Setting.class);

  ConfigCheck(
      @Nullable String url,
      @Nullable String username,
      @Nullable String password,
      Map<Setting, Object> given,
      Properties properties) {
    this.url = url;
    this.username = username;
    this.password = password;
    this.given = given;
    this.properties = properties;
  }

  PgStewardConfig check() {
    ConnectionUrl parsed = parsedUrl();
    gatherValues(parsed);
    checkTogether();
    checkCoordinator();
    ConnectionTarget target = parsed == null ? null : target(parsed);
    if (target == null || !problems.isEmpty()) {
      throw new IllegalArgumentException(
          "PgSteward cannot be used with this configuration:\n - "
              + String.join("\n - ", problems));
    }
    return new PgStewardConfig(target, values, warnings);
  }

  private @Nullable ConnectionUrl parsedUrl() {
    if (url == null || url.isBlank()) {
      problems.add("url is missing; it has the form jdbc:pgsteward://host:port/database");
      return null;
    }
    return ConnectionUrl.parse(url, problems::add);
  }

  private void gatherValues(@Nullable ConnectionUrl parsed) {
    for (Setting setting : Setting.values()) {
      Object value = value(setting, parsed);
      if (value == null) {
        continue;
      }
      values.put(setting, value);
      String problem = setting.problem(value);
      if (problem != null) {
        problems.add(problem);
      }
    }
  }

  private @Nullable Object value(Setting setting, @Nullable ConnectionUrl parsed) {
    String inUrl = parsed == null ? null : parsed.settings().get(setting);
    if (inUrl != null) {
      return parse(setting, inUrl);
    }
    Object set = given.get(setting);
    if (set != null) {
      return set instanceof Unparsed unparsed ? parse(setting, unparsed.text()) : set;
    }
    String property = properties.getProperty(setting.parameter());
    return property == null ? setting.defaultValue() : parse(setting, property);
  }

  private @Nullable Object parse(Setting setting, String text) {
    try {
      return setting.parse(text);
    } catch (IllegalArgumentException e) {
      problems.add(String.valueOf(e.getMessage()));
      return setting.defaultValue();
    }
  }

  /** Rules between two settings. */
  private void checkTogether() {
    Duration lifetime = (Duration) values.get(Setting.MAX_LIFETIME);
    Duration keepalive = (Duration) values.get(Setting.KEEPALIVE_TIME);
    if (lifetime != null
        && keepalive != null
        && !lifetime.isZero()
        && keepalive.compareTo(lifetime) >= 0) {
      if (keepalive.equals(Setting.KEEPALIVE_TIME.defaultValue())) {
        values.put(Setting.KEEPALIVE_TIME, Duration.ZERO);
      } else {
        problems.add(
            "keepaliveTime is below maxLifetime, but it was "
                + keepalive.toMillis()
                + " ms and maxLifetime "
                + lifetime.toMillis()
                + " ms");
      }
    }
  }

  private void checkCoordinator() {
    String coordinator = (String) values.get(Setting.COORDINATOR);
    if (coordinator == null || coordinator.isBlank() || coordinator.equals("local")) {
      return;
    }
    for (String address : coordinator.split(",", -1)) {
      String problem = addressProblem(address.strip());
      if (problem != null) {
        problems.add(problem);
      }
    }
  }

  private static @Nullable String addressProblem(String address) {
    String form = "coordinator is local, or http://host:7432, or several of them with commas";
    URI uri;
    try {
      uri = new URI(address);
    } catch (URISyntaxException e) {
      return form + ", but \"" + withoutUser(address) + "\" is no address";
    }
    String scheme = uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(Locale.ROOT);
    if (uri.getRawUserInfo() != null) {
      return "coordinator takes no user in its address; use coordinatorToken";
    }
    if (!(scheme.equals("http") || scheme.equals("https")) || uri.getHost() == null) {
      return form + ", but one of them was \"" + withoutUser(address) + "\"";
    }
    if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
      return form + ", but \"" + address + "\" has more than an address";
    }
    return null;
  }

  private static String withoutUser(String address) {
    int at = address.lastIndexOf('@');
    return at < 0 ? address : "..." + address.substring(at);
  }

  private @Nullable ConnectionTarget target(ConnectionUrl parsed) {
    Map<String, String> forPgjdbc = new LinkedHashMap<>();
    for (String name : properties.stringPropertyNames()) {
      if (Setting.named(name) == null) {
        forPgjdbc.put(name, properties.getProperty(name));
      }
    }
    putIfGiven(forPgjdbc, PGProperty.USER.getName(), username);
    putIfGiven(forPgjdbc, PGProperty.PASSWORD.getName(), password);
    forPgjdbc.putAll(parsed.secrets());
    warnOfNearMisses(forPgjdbc.keySet());
    warnOfNearMisses(parsed.otherNames());

    Properties effective = effective(parsed.pgjdbcUrl(), forPgjdbc);
    if (effective == null) {
      problems.add(
          "url is not understood by pgjdbc (a service that its service file does not have?): "
              + ConnectionUrl.shown(String.valueOf(url)));
      return null;
    }
    checkTargetServerType(effective);
    String label = (String) values.get(Setting.TENANT);
    try {
      return ConnectionTarget.read(
          effective,
          label == null || label.isBlank() ? null : label); // blank is told by its own rule
    } catch (IllegalArgumentException e) {
      problems.add(String.valueOf(e.getMessage()));
      return null;
    }
  }

  private static void putIfGiven(Map<String, String> map, String name, @Nullable String value) {
    if (value != null) {
      map.put(name, value);
    }
  }

  /** What pgjdbc makes of both, the operating system's user being its last resort for the role. */
  private static @Nullable Properties effective(String pgjdbcUrl, Map<String, String> forPgjdbc) {
    Properties defaults = new Properties();
    String systemUser = System.getProperty("user.name");
    if (systemUser != null) {
      defaults.setProperty(PGProperty.USER.getName(), systemUser);
    }
    Properties asked = new Properties(defaults);
    asked.putAll(forPgjdbc);
    return Driver.parseURL(pgjdbcUrl, asked);
  }

  private void checkTargetServerType(Properties effective) {
    String type = PGProperty.TARGET_SERVER_TYPE.getOrNull(effective);
    if (type == null) {
      String hosts = PGProperty.PG_HOST.getOrDefault(effective);
      if (hosts != null && hosts.indexOf(',') >= 0) {
        PGProperty.TARGET_SERVER_TYPE.set(effective, "primary");
      }
    } else if (!PRIMARY.contains(type.toLowerCase(Locale.ROOT))) {
      problems.add(
          "targetServerType="
              + type
              + " may connect to a standby, which is another server with a budget of its own; only"
              + " primary is supported, and it is the default with several hosts");
    }
  }

  private void warnOfNearMisses(Iterable<String> names) {
    for (String name : names) {
      if (PGProperty.forName(name) != null || name.startsWith("PG")) {
        continue;
      }
      if (WITHOUT_MEANING.contains(name)) {
        warnings.add(name + " has no meaning in PgSteward and is passed on to pgjdbc");
        continue;
      }
      for (Setting setting : Setting.values()) {
        if (isNear(name, setting.parameter())) {
          warnings.add(
              name
                  + " is unknown and is passed on to pgjdbc; was "
                  + setting.parameter()
                  + " meant?");
        }
      }
    }
  }

  /** Whether at most two letters have to be added, dropped or changed; case does not count. */
  private static boolean isNear(String given, String known) {
    String a = given.toLowerCase(Locale.ROOT);
    String b = known.toLowerCase(Locale.ROOT);
    if (Math.abs(a.length() - b.length()) > 2) {
      return false;
    }
    int[] row = new int[b.length() + 1];
    for (int j = 0; j < row.length; j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int change = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(change, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()] <= 2;
  }
}
