package io.pgsteward.jdbc;

import io.pgsteward.protocol.TenantReport;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Every setting of ours, under the one name that it has as a URL parameter, as a property and as a
 * bean setter: its kind, its default, its rule and its description. The meaning is written where
 * the user reads it, at the setters of {@link PgStewardConfig.Builder}.
 */
enum Setting {
  COORDINATOR(
      "coordinator",
      Kind.TEXT,
      "local",
      "Addresses of the coordinator, separated by commas (http://host:7432), or local"),
  COORDINATOR_TOKEN(
      "coordinatorToken", Kind.SECRET, null, "Bearer token that the coordinator asks of members"),
  INSTANCE(
      "instance",
      Kind.TEXT,
      null,
      "Name of this PostgreSQL server in the coordinator's configuration; left out: the only one"),
  TENANT("tenant", Kind.TEXT, null, "Label that sets this use of the role apart from its others"),
  FALLBACK_SLOTS(
      "fallbackSlots",
      Kind.COUNT,
      2,
      "Connections that this process may hold while it has no grant and hears no coordinator"),
  MAX_WAITERS("maxWaiters", Kind.COUNT, 0, "Threads that may wait for a connection; 0: no limit"),
  MAXIMUM_POOL_SIZE(
      "maximumPoolSize",
      Kind.COUNT,
      null,
      "A cap for this process below what the coordinator grants; left out: none"),
  CONNECTION_TIMEOUT(
      "connectionTimeout",
      Kind.DURATION,
      Duration.ofSeconds(30),
      "Longest wait for a connection; 0: no limit"),
  VALIDATION_TIMEOUT(
      "validationTimeout",
      Kind.DURATION,
      Duration.ofSeconds(1),
      "Longest wait for the answer when a connection is tested"),
  VANISHED_CLIENT_TIMEOUT(
      "vanishedClientTimeout",
      Kind.DURATION,
      Duration.ofMinutes(1),
      "Time after which PostgreSQL ends a connection whose client's host has vanished; 0: as the"
          + " server is set"),
  MAX_LIFETIME(
      "maxLifetime",
      Kind.DURATION,
      Duration.ofMinutes(30),
      "Age at which a connection is replaced; 0: never"),
  KEEPALIVE_TIME(
      "keepaliveTime",
      Kind.DURATION,
      Duration.ofMinutes(2),
      "Time between two tests of an idle connection; 0: none"),
  IDLE_TIMEOUT(
      "idleTimeout",
      Kind.DURATION,
      Duration.ofMinutes(10),
      "Time after which an idle connection is closed; 0: never"),
  LEAK_DETECTION_THRESHOLD(
      "leakDetectionThreshold",
      Kind.DURATION,
      Duration.ZERO,
      "Time after which a connection in use is reported as a possible leak; 0: never"),
  AUTO_COMMIT("autoCommit", Kind.FLAG, true, "Auto-commit of a connection that is handed out"),
  TRANSACTION_ISOLATION(
      "transactionIsolation",
      Kind.ISOLATION,
      null,
      "Isolation of a connection that is handed out, as TRANSACTION_READ_COMMITTED; left out: the"
          + " server's"),
  SCHEMA("schema", Kind.TEXT, null, "Schema of a connection that is handed out"),
  CONNECTION_INIT_SQL(
      "connectionInitSql", Kind.TEXT, null, "Statement that runs once on each new connection"),
  POOL_NAME("poolName", Kind.TEXT, null, "Name in metrics; left out: the tenant");

  /** What values a setting takes. */
  enum Kind {
    /** Text that is not blank. */
    TEXT,
    /** Text that is never shown. */
    SECRET,
    /** A whole number. */
    COUNT,
    /** Milliseconds, or a number with ms, s, m or h. */
    DURATION,
    /** true or false. */
    FLAG,
    /** A constant of {@link java.sql.Connection}, by name or by number. */
    ISOLATION
  }

  private static final Pattern DURATION_TEXT = Pattern.compile("(\\d{1,12})\\s*(ms|s|m|h)?");

  /** Half of it is about the longest idle time that Linux takes for a keepalive. */
  private static final Duration LONGEST_SILENCE = Duration.ofHours(12);

  private static final Duration LONGEST = Duration.ofDays(36_500);
  private static final Map<String, Integer> ISOLATIONS =
      Map.of(
          "TRANSACTION_READ_UNCOMMITTED", java.sql.Connection.TRANSACTION_READ_UNCOMMITTED,
          "TRANSACTION_READ_COMMITTED", java.sql.Connection.TRANSACTION_READ_COMMITTED,
          "TRANSACTION_REPEATABLE_READ", java.sql.Connection.TRANSACTION_REPEATABLE_READ,
          "TRANSACTION_SERIALIZABLE", java.sql.Connection.TRANSACTION_SERIALIZABLE);
  private static final Map<String, Setting> BY_NAME = new HashMap<>();

  static {
    for (Setting setting : values()) {
      BY_NAME.put(setting.parameter, setting);
    }
  }

  private final String parameter;
  private final Kind kind;
  private final @Nullable Object defaultValue;
  private final String description;

  Setting(String parameter, Kind kind, @Nullable Object defaultValue, String description) {
    this.parameter = parameter;
    this.kind = kind;
    this.defaultValue = defaultValue;
    this.description = description;
  }

  /** The setting of that name, spelled exactly so, or null. */
  static @Nullable Setting named(String parameter) {
    return BY_NAME.get(parameter);
  }

  String parameter() {
    return parameter;
  }

  Kind kind() {
    return kind;
  }

  @Nullable Object defaultValue() {
    return defaultValue;
  }

  String description() {
    return description;
  }

  /**
   * Reads a value from its text.
   *
   * @throws IllegalArgumentException with a sentence for the user; it never shows a secret
   */
  Object parse(String text) {
    return switch (kind) {
      case TEXT, SECRET -> text;
      case COUNT -> count(text);
      case DURATION -> duration(text);
      case FLAG -> flag(text);
      case ISOLATION -> isolation(text);
    };
  }

  private Object count(String text) {
    try {
      return Integer.valueOf(text.strip());
    } catch (NumberFormatException e) {
      throw malformed("is a whole number", text);
    }
  }

  private Object duration(String text) {
    Matcher matcher = DURATION_TEXT.matcher(text.strip());
    if (!matcher.matches()) {
      throw malformed("is a number of milliseconds, or a number with ms, s, m or h", text);
    }
    long number = Long.parseLong(matcher.group(1));
    String unit = matcher.group(2);
    if (unit == null || unit.equals("ms")) {
      return Duration.ofMillis(number);
    }
    return switch (unit) {
      case "s" -> Duration.ofSeconds(number);
      case "m" -> Duration.ofMinutes(number);
      default -> Duration.ofHours(number);
    };
  }

  private Object flag(String text) {
    return switch (text.strip().toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw malformed("is true or false", text);
    };
  }

  /** The constant's full name. */
  private Object isolation(String text) {
    String name = text.strip().toUpperCase(Locale.ROOT);
    for (Map.Entry<String, Integer> known : ISOLATIONS.entrySet()) {
      if (known.getKey().equals(name)
          || known.getKey().equals("TRANSACTION_" + name)
          || known.getValue().toString().equals(name)) {
        return known.getKey();
      }
    }
    throw malformed(
        "is TRANSACTION_READ_UNCOMMITTED, TRANSACTION_READ_COMMITTED, TRANSACTION_REPEATABLE_READ"
            + " or TRANSACTION_SERIALIZABLE",
        text);
  }

  private IllegalArgumentException malformed(String rule, String text) {
    return new IllegalArgumentException(parameter + " " + rule + ", but it was \"" + text + "\"");
  }

  /**
   * What is wrong with a value, or null. Values are refused, never corrected; the least values are
   * HikariCP's, which keeps the connections.
   */
  @Nullable String problem(Object value) {
    return switch (this) {
      case FALLBACK_SLOTS ->
          (Integer) value <= TenantReport.MOST
              ? atLeast((Integer) value, 0)
              : parameter + " is at most " + TenantReport.MOST + ", but it was " + value;
      case MAX_WAITERS -> atLeast((Integer) value, 0);
      case MAXIMUM_POOL_SIZE -> atLeast((Integer) value, 1);
      case CONNECTION_TIMEOUT -> atLeast((Duration) value, Duration.ofMillis(1), true);
      case VALIDATION_TIMEOUT -> atLeast((Duration) value, Duration.ofMillis(250), false);
      case MAX_LIFETIME, KEEPALIVE_TIME -> atLeast((Duration) value, Duration.ofSeconds(30), true);
      case IDLE_TIMEOUT -> atLeast((Duration) value, Duration.ofSeconds(10), true);
      case VANISHED_CLIENT_TIMEOUT ->
          ((Duration) value).compareTo(LONGEST_SILENCE) <= 0
              ? atLeast((Duration) value, Duration.ofSeconds(10), true)
              : parameter + " is at most 12h, but it was " + ((Duration) value).toSeconds() + " s";
      case LEAK_DETECTION_THRESHOLD -> atLeast((Duration) value, Duration.ofSeconds(2), true);
      case AUTO_COMMIT, TRANSACTION_ISOLATION -> null;
      case COORDINATOR_TOKEN ->
          ((String) value).chars().allMatch(c -> c > ' ' && c < 0x7f) && !((String) value).isEmpty()
              ? null
              : parameter + " is visible ASCII characters without spaces (its value is not shown)";
      case COORDINATOR, INSTANCE, TENANT, SCHEMA, CONNECTION_INIT_SQL, POOL_NAME ->
          ((String) value).isBlank() ? parameter + " is empty; leave it out instead" : null;
    };
  }

  private @Nullable String atLeast(int value, int least) {
    return value >= least ? null : parameter + " is at least " + least + ", but it was " + value;
  }

  private @Nullable String atLeast(Duration value, Duration least, boolean zeroAllowed) {
    if (value.compareTo(LONGEST) > 0) {
      return parameter + " is at most " + LONGEST.toDays() + " days, but it was " + value;
    }
    if (value.compareTo(least) >= 0 || (zeroAllowed && value.isZero())) {
      return null;
    }
    return parameter
        + " is at least "
        + least.toMillis()
        + " ms"
        + (zeroAllowed ? ", or 0" : "")
        + ", but it was "
        + (value.isNegative() ? value : value.toMillis() + " ms");
  }

  /** The value as it may stand in a log. */
  String shown(Object value) {
    if (kind == Kind.SECRET) {
      return "***";
    }
    return value instanceof Duration duration ? duration.toMillis() + "ms" : value.toString();
  }
}
