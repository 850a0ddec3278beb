package io.pgsteward.jdbc.internal.pool;

import java.sql.Driver;
import java.time.Duration;
import java.util.Objects;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * Everything that one pool needs to know. Immutable; {@link #toString} shows no secret.
 *
 * @param tenant the tenant's text, for messages, logs and thread names
 * @param driver opens the physical connections; pgjdbc outside of tests
 * @param url what {@code driver} connects to
 * @param properties its properties, user and password among them; pgjdbc's names
 * @param applicationName what connections are called in {@code pg_stat_activity}; null leaves it to
 *     {@code properties}
 * @param initialLimit connections that may be held before the first {@link TenantPool#limit}
 * @param cap most connections of this process whatever is granted; {@link Integer#MAX_VALUE} for
 *     none
 * @param maxWaiters threads that may wait beyond those for whom a connection is being opened; 0 for
 *     no limit
 * @param connectTimeout longest time that one opening may take, all hosts and the login included
 * @param closeTimeout how long a close waits to see the backend exit
 * @param vanishedClientTimeout when PostgreSQL ends a connection whose client's host does not
 *     answer any more; 0: as the server is set
 * @param closeGiveUp how long a close that nobody can confirm counts as {@code closing}
 * @param validationTimeout longest wait for the answer when a connection is tested
 * @param maxLifetime age at which a connection is replaced; zero: never
 * @param idleTimeout time after which an idle connection is closed; zero: never
 * @param keepaliveTime time between two tests of an idle connection; zero: none
 * @param leakDetectionThreshold time in use after which a leak is suspected; zero: never
 * @param autoCommit auto-commit of a connection that is handed out
 * @param readOnly read-only flag of a connection that is handed out
 * @param transactionIsolation name of a constant of {@link java.sql.Connection}; null: the server's
 * @param catalog catalog of a connection that is handed out; null: none is set
 * @param schema schema of a connection that is handed out; null: none is set
 * @param connectionInitSql statement that runs once on each new connection; null: none
 */
public record TenantPoolSettings(
    String tenant,
    Driver driver,
    String url,
    Properties properties,
    @Nullable String applicationName,
    int initialLimit,
    int cap,
    int maxWaiters,
    Duration connectTimeout,
    Duration closeTimeout,
    Duration vanishedClientTimeout,
    Duration closeGiveUp,
    Duration validationTimeout,
    Duration maxLifetime,
    Duration idleTimeout,
    Duration keepaliveTime,
    Duration leakDetectionThreshold,
    boolean autoCommit,
    boolean readOnly,
    @Nullable String transactionIsolation,
    @Nullable String catalog,
    @Nullable String schema,
    @Nullable String connectionInitSql) {

  public TenantPoolSettings {
    if (initialLimit < 0 || cap < 0 || maxWaiters < 0) {
      throw new IllegalArgumentException(
          "initialLimit, cap and maxWaiters are at least 0, but they were "
              + initialLimit
              + ", "
              + cap
              + " and "
              + maxWaiters);
    }
    if (connectTimeout.isNegative() || connectTimeout.isZero()) {
      throw new IllegalArgumentException(
          "connectTimeout is above 0, but it was " + connectTimeout.toMillis() + " ms");
    }
    properties = copyOf(properties);
  }

  /** Settings for pgjdbc with defaults. */
  public static Builder builder(String tenant, String url, Properties properties) {
    return new Builder(tenant, url, properties);
  }

  @Override
  public Properties properties() {
    return copyOf(properties);
  }

  @Override
  public String toString() {
    return "TenantPoolSettings[" + tenant + "]";
  }

  private static Properties copyOf(Properties properties) {
    Properties copy = new Properties();
    for (String name : properties.stringPropertyNames()) {
      copy.setProperty(name, Objects.requireNonNull(properties.getProperty(name)));
    }
    return copy;
  }

  /** Collects settings. Not thread-safe. */
  public static final class Builder {

    private final String tenant;
    private final String url;
    private final Properties properties;
    private Driver driver = new org.postgresql.Driver();
    private @Nullable String applicationName;
    private int initialLimit;
    private int cap = Integer.MAX_VALUE;
    private int maxWaiters;
    private Duration connectTimeout = Duration.ofSeconds(10);
    private Duration closeTimeout = Duration.ofSeconds(1);
    private Duration vanishedClientTimeout = Duration.ZERO;
    private Duration closeGiveUp = Duration.ofSeconds(60);
    private Duration validationTimeout = Duration.ofSeconds(1);
    private Duration maxLifetime = Duration.ofMinutes(30);
    private Duration idleTimeout = Duration.ofMinutes(10);
    private Duration keepaliveTime = Duration.ofMinutes(2);
    private Duration leakDetectionThreshold = Duration.ZERO;
    private boolean autoCommit = true;
    private boolean readOnly;
    private @Nullable String transactionIsolation;
    private @Nullable String catalog;
    private @Nullable String schema;
    private @Nullable String connectionInitSql;

    private Builder(String tenant, String url, Properties properties) {
      this.tenant = tenant;
      this.url = url;
      this.properties = properties;
    }

    /** Another driver than pgjdbc. */
    public Builder driver(Driver value) {
      driver = value;
      return this;
    }

    public Builder applicationName(@Nullable String value) {
      applicationName = value;
      return this;
    }

    public Builder initialLimit(int value) {
      initialLimit = value;
      return this;
    }

    public Builder cap(int value) {
      cap = value;
      return this;
    }

    public Builder maxWaiters(int value) {
      maxWaiters = value;
      return this;
    }

    public Builder connectTimeout(Duration value) {
      connectTimeout = value;
      return this;
    }

    public Builder vanishedClientTimeout(Duration value) {
      vanishedClientTimeout = value;
      return this;
    }

    public Builder closeTimeout(Duration value) {
      closeTimeout = value;
      return this;
    }

    public Builder closeGiveUp(Duration value) {
      closeGiveUp = value;
      return this;
    }

    public Builder validationTimeout(Duration value) {
      validationTimeout = value;
      return this;
    }

    public Builder maxLifetime(Duration value) {
      maxLifetime = value;
      return this;
    }

    public Builder idleTimeout(Duration value) {
      idleTimeout = value;
      return this;
    }

    public Builder keepaliveTime(Duration value) {
      keepaliveTime = value;
      return this;
    }

    public Builder leakDetectionThreshold(Duration value) {
      leakDetectionThreshold = value;
      return this;
    }

    public Builder autoCommit(boolean value) {
      autoCommit = value;
      return this;
    }

    public Builder readOnly(boolean value) {
      readOnly = value;
      return this;
    }

    public Builder transactionIsolation(@Nullable String value) {
      transactionIsolation = value;
      return this;
    }

    public Builder catalog(@Nullable String value) {
      catalog = value;
      return this;
    }

    public Builder schema(@Nullable String value) {
      schema = value;
      return this;
    }

    public Builder connectionInitSql(@Nullable String value) {
      connectionInitSql = value;
      return this;
    }

    public TenantPoolSettings build() {
      return new TenantPoolSettings(
          tenant,
          driver,
          url,
          properties,
          applicationName,
          initialLimit,
          cap,
          maxWaiters,
          connectTimeout,
          closeTimeout,
          vanishedClientTimeout,
          closeGiveUp,
          validationTimeout,
          maxLifetime,
          idleTimeout,
          keepaliveTime,
          leakDetectionThreshold,
          autoCommit,
          readOnly,
          transactionIsolation,
          catalog,
          schema,
          connectionInitSql);
    }
  }
}
