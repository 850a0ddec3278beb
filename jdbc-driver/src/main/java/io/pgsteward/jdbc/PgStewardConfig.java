package io.pgsteward.jdbc;

import io.pgsteward.model.TenantId;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGProperty;

/**
 * Everything that a {@link PgStewardDataSource} is told. Immutable and thread-safe; two equal
 * configurations in one process share their connections.
 *
 * <p>A setting may be given in the URL, by a setter, or by {@link Builder#property}. The URL wins
 * over the setter, as in pgjdbc, and the setter over the property.
 *
 * <p>There is no size among the settings: how many connections the process may hold is what the
 * coordinator grants.
 */
public final class PgStewardConfig {

  /** Stands for "no limit" of a wait: longer than any process runs. */
  static final long ENDLESS_NANOS = Long.MAX_VALUE / 4;

  private final ConnectionTarget target;
  private final Map<Setting, Object> values;
  private final List<String> warnings;

  PgStewardConfig(ConnectionTarget target, Map<Setting, Object> values, List<String> warnings) {
    this.target = target;
    this.values = new EnumMap<>(values);
    this.warnings = List.copyOf(warnings);
  }

  /** A builder with every setting at its default. */
  public static Builder builder() {
    return new Builder();
  }

  /** The tenant: role@database, with the label if one is given. */
  public TenantId tenant() {
    return target.tenant();
  }

  /** The URL as pgjdbc gets it: without our settings and without secrets. */
  public String pgjdbcUrl() {
    return target.url();
  }

  /** Longest wait for a connection; zero means no limit. */
  public Duration connectionTimeout() {
    return duration(Setting.CONNECTION_TIMEOUT);
  }

  /** A wait in nanoseconds, zero being no limit. */
  static long nanos(Duration wait) {
    return wait.isZero() ? ENDLESS_NANOS : Math.min(ENDLESS_NANOS, wait.toNanos());
  }

  long connectionTimeoutNanos() {
    return nanos(connectionTimeout());
  }

  /** The name in metrics. */
  String poolName() {
    String given = text(Setting.POOL_NAME);
    return given == null ? tenant().toString() : given;
  }

  /** What DataSources must have in common to share connections: all but wait and name. */
  Object sharingKey() {
    Map<Setting, Object> shared = new EnumMap<>(values);
    shared.remove(Setting.CONNECTION_TIMEOUT);
    shared.remove(Setting.POOL_NAME);
    return List.of(target, shared);
  }

  ConnectionTarget target() {
    return target;
  }

  /** What looks like a mistake but hinders nothing; told once in the log when the pool starts. */
  List<String> warnings() {
    return warnings;
  }

  Duration duration(Setting setting) {
    return (Duration) required(setting);
  }

  boolean flag(Setting setting) {
    return (Boolean) required(setting);
  }

  @Nullable Integer number(Setting setting) {
    return (Integer) values.get(setting);
  }

  @Nullable String text(Setting setting) {
    return (String) values.get(setting);
  }

  private Object required(Setting setting) {
    return Objects.requireNonNull(values.get(setting), setting.parameter());
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof PgStewardConfig that
        && target.equals(that.target)
        && values.equals(that.values);
  }

  @Override
  public int hashCode() {
    return Objects.hash(target, values);
  }

  /** The tenant, the URL and every setting; never a secret. */
  @Override
  public String toString() {
    StringJoiner text = new StringJoiner(", ", "PgStewardConfig[", "]");
    text.add("tenant=" + tenant()).add("url=" + pgjdbcUrl());
    values.forEach((setting, value) -> text.add(setting.parameter() + "=" + setting.shown(value)));
    return text.toString();
  }

  /**
   * Collects settings. Null always takes a setting back to its default. Nothing is checked before
   * {@link #build}, which tells every problem at once. Not thread-safe.
   */
  public static final class Builder {

    private final Map<Setting, Object> given = new EnumMap<>(Setting.class);
    private final Properties properties = new Properties();
    private @Nullable String url;
    private @Nullable String username;
    private @Nullable String password;

    private Builder() {}

    /**
     * Where PostgreSQL is: {@code jdbc:pgsteward://host[:port][,host...]/database?...}, which is a
     * pgjdbc URL with another prefix. {@code jdbc:postgresql:} is accepted too. Parameters that are
     * not ours reach pgjdbc unchanged. With several hosts and no {@code targetServerType} the
     * primary among them is taken, since a coordinator stands for one server. Required; null and
     * empty are refused.
     */
    public Builder jdbcUrl(@Nullable String jdbcUrl) {
      url = jdbcUrl;
      return this;
    }

    /** The login role. Default, and null: as in pgjdbc the name of the operating system's user. */
    public Builder username(@Nullable String role) {
      username = role;
      return this;
    }

    /**
     * The role's password. Default, and null: none is sent unless pgjdbc finds one in its password
     * file.
     */
    public Builder password(@Nullable String secret) {
      password = secret;
      return this;
    }

    /**
     * Any setting of ours or parameter of pgjdbc, by its name and as text, as it would stand in the
     * URL (but not percent-encoded). Null takes it back.
     */
    public Builder property(String name, @Nullable String value) {
      if (value == null) {
        properties.remove(name);
      } else {
        properties.setProperty(name, value);
      }
      return this;
    }

    /**
     * Who grants slots: the address of the coordinator ({@code http://host:7432}), several of them
     * separated by commas, of which the one that leads is used, or {@code local}: this process
     * grants to itself from the whole budget of the server. Default, and null: {@code local}.
     */
    public Builder coordinator(@Nullable String addresses) {
      return with(Setting.COORDINATOR, addresses);
    }

    /** The bearer token that the coordinator asks of members. Default, and null: none is sent. */
    public Builder coordinatorToken(@Nullable String secret) {
      return with(Setting.COORDINATOR_TOKEN, secret);
    }

    /**
     * The name of this PostgreSQL server in the coordinator's configuration. Default, and null: the
     * only one that it has.
     */
    public Builder instance(@Nullable String name) {
      return with(Setting.INSTANCE, name);
    }

    /**
     * A label that sets this use of the role apart from its other uses, so that it has a policy of
     * its own: {@code batch} makes the tenant {@code role@database/batch}. Default, and null: no
     * label.
     */
    public Builder tenant(@Nullable String label) {
      return with(Setting.TENANT, label);
    }

    /**
     * Connections that this process may hold for the tenant while it has no grant and hears no
     * coordinator. Zero: none, so a process that starts without a coordinator has to wait for it.
     * Default, and null: 2.
     */
    public Builder fallbackSlots(@Nullable Integer slots) {
      return with(Setting.FALLBACK_SLOTS, slots);
    }

    /**
     * How many threads may wait for a connection at one time; one more is refused at once. Zero: no
     * limit. Default, and null: zero.
     */
    public Builder maxWaiters(@Nullable Integer threads) {
      return with(Setting.MAX_WAITERS, threads);
    }

    /**
     * A cap for this process below what the coordinator grants; at least 1. Not the size of the
     * pool: that is the grant. Default, and null: no cap.
     */
    public Builder maximumPoolSize(@Nullable Integer cap) {
      return with(Setting.MAXIMUM_POOL_SIZE, cap);
    }

    /**
     * Longest wait in {@code getConnection}, opening included. Zero: no limit. Default, and null:
     * 30 s.
     */
    public Builder connectionTimeout(@Nullable Duration wait) {
      return with(Setting.CONNECTION_TIMEOUT, wait);
    }

    /**
     * Longest wait for PostgreSQL's answer when a connection is tested; at least 250 ms, zero is
     * refused. Default, and null: 1 s.
     */
    public Builder validationTimeout(@Nullable Duration wait) {
      return with(Setting.VALIDATION_TIMEOUT, wait);
    }

    /**
     * Time after which PostgreSQL ends a connection whose client's host has vanished (lost power or
     * network) without a word, so that its slot can be used again; from 10 s to 12 hours. Sets the
     * server's keepalive of the connection, its user timeout and {@code
     * client_connection_check_interval}, where they are longer or not set. Zero: as the server is
     * set, which is often hours. Default, and null: 1 minute.
     */
    public Builder vanishedClientTimeout(@Nullable Duration silence) {
      return with(Setting.VANISHED_CLIENT_TIMEOUT, silence);
    }

    /**
     * Age at which a connection is replaced, once it is not in use; at least 30 s. Zero: never.
     * Default, and null: 30 minutes.
     */
    public Builder maxLifetime(@Nullable Duration age) {
      return with(Setting.MAX_LIFETIME, age);
    }

    /**
     * Time between two tests of an idle connection; at least 30 s and below {@code maxLifetime}.
     * Zero: no tests. Default, and null: 2 minutes, or no tests if {@code maxLifetime} is not above
     * that.
     */
    public Builder keepaliveTime(@Nullable Duration interval) {
      return with(Setting.KEEPALIVE_TIME, interval);
    }

    /**
     * Time after which an idle connection is closed, whether or not another process wants it (one
     * that is wanted closes at once); at least 10 s. Zero: never. Default, and null: 10 minutes.
     */
    public Builder idleTimeout(@Nullable Duration idle) {
      return with(Setting.IDLE_TIMEOUT, idle);
    }

    /**
     * Time after which a connection in use is reported in the log as a possible leak, with the
     * place that borrowed it. It is never closed for that. At least 2 s. Zero: no reports. Default,
     * and null: zero.
     */
    public Builder leakDetectionThreshold(@Nullable Duration inUse) {
      return with(Setting.LEAK_DETECTION_THRESHOLD, inUse);
    }

    /** Auto-commit of each connection as it is handed out. Default, and null: true. */
    public Builder autoCommit(@Nullable Boolean on) {
      return with(Setting.AUTO_COMMIT, on);
    }

    /**
     * Whether each connection is read-only as it is handed out; pgjdbc's parameter of that name.
     * Default, and null: false.
     */
    public Builder readOnly(@Nullable Boolean on) {
      return property(PGProperty.READ_ONLY.getName(), on == null ? null : on.toString());
    }

    /**
     * Isolation of each connection as it is handed out: {@code TRANSACTION_READ_COMMITTED} and so
     * on, with or without the first word, or the constant's number. Default, and null: the
     * server's.
     */
    public Builder transactionIsolation(@Nullable String level) {
      if (level == null) {
        return with(Setting.TRANSACTION_ISOLATION, null);
      }
      given.put(Setting.TRANSACTION_ISOLATION, new Unparsed(level));
      return this;
    }

    /** Schema of each connection as it is handed out. Default, and null: the role's. */
    public Builder schema(@Nullable String name) {
      return with(Setting.SCHEMA, name);
    }

    /** A statement that runs once on each new connection. Default, and null: none. */
    public Builder connectionInitSql(@Nullable String statement) {
      return with(Setting.CONNECTION_INIT_SQL, statement);
    }

    /** The name in metrics. Default, and null: the tenant. */
    public Builder poolName(@Nullable String name) {
      return with(Setting.POOL_NAME, name);
    }

    Duration connectionTimeout() {
      Object wait = given.get(Setting.CONNECTION_TIMEOUT);
      return wait instanceof Duration duration ? duration : Duration.ofSeconds(30);
    }

    private Builder with(Setting setting, @Nullable Object value) {
      if (value == null) {
        given.remove(setting);
      } else {
        given.put(setting, value);
      }
      return this;
    }

    /**
     * Checks everything.
     *
     * @throws IllegalArgumentException if anything is wrong; the message lists every problem, one a
     *     line, and shows no secret
     */
    public PgStewardConfig build() {
      return new ConfigCheck(url, username, password, given, properties).check();
    }
  }

  /** A value that a setter got as text; read when the configuration is built. */
  record Unparsed(String text) {}
}
