package io.pgsteward.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A {@link DataSource} that pools connections to PostgreSQL inside this process and opens no more
 * of them than its coordinator grants.
 *
 * <pre>{@code
 * PgStewardDataSource dataSource = new PgStewardDataSource();
 * dataSource.setJdbcUrl("jdbc:pgsteward://db:5432/shop?coordinator=http://coordinator:7432");
 * dataSource.setUsername("web");
 * dataSource.setPassword(password);
 * }</pre>
 *
 * <p>It starts with the first {@link #getConnection()}; from then on its settings are sealed. Every
 * setting is explained at {@link PgStewardConfig.Builder}; the setters here take milliseconds where
 * that takes durations, under HikariCP's names. DataSources of one process with equal settings
 * share their connections.
 *
 * <p>Thread-safe, the setters before the start excepted. All threads of a DataSource are daemons:
 * one that is never closed does not keep the JVM alive.
 */
public final class PgStewardDataSource implements DataSource, AutoCloseable {

  private final PgStewardConfig.Builder settings;
  private final List<PgStewardListener> listeners = new CopyOnWriteArrayList<>();

  private volatile @Nullable RunningPool pool; // written under this
  private volatile @Nullable PgStewardConfig config; // written under this
  private volatile long timeoutNanos;
  private boolean closed; // guarded by this

  /** A DataSource that is told its settings by its setters. */
  public PgStewardDataSource() {
    settings = PgStewardConfig.builder();
  }

  /** A DataSource with settings that were checked already; its setters are sealed. */
  public PgStewardDataSource(PgStewardConfig config) {
    settings = PgStewardConfig.builder();
    this.config = config;
    timeoutNanos = config.connectionTimeoutNanos();
  }

  /**
   * A connection, as soon as one is free or may be opened; the first waiter is served first.
   * Closing it gives it back.
   *
   * @throws NoSlotException after {@code connectionTimeout} because a limit was full; says which
   * @throws java.sql.SQLTransientConnectionException after {@code connectionTimeout} (SQLState
   *     08001) because PostgreSQL did not answer, or because the thread was interrupted
   * @throws SQLNonTransientConnectionException if waiting does not help: the settings are wrong
   *     (08001), PostgreSQL refuses role, password or database (its own SQLState), the coordinator
   *     has no place for the tenant (08004), or this DataSource is closed (08003)
   */
  @Override
  public Connection getConnection() throws SQLException {
    RunningPool started = pool;
    return started == null ? getConnection(0) : started.getConnection(timeoutNanos);
  }

  /**
   * The same as {@link #getConnection()} if these are the credentials that the DataSource has.
   *
   * @throws SQLFeatureNotSupportedException if they are others: a DataSource belongs to one role,
   *     since the role is what connections are granted to
   */
  @Override
  public Connection getConnection(@Nullable String username, @Nullable String password)
      throws SQLException {
    if (!configured().target().hasCredentials(username, password)) {
      throw new SQLFeatureNotSupportedException(
          "this PgStewardDataSource belongs to "
              + configured().tenant()
              + " and was asked for a connection with other credentials (user "
              + username
              + "); make a DataSource for each role");
    }
    return getConnection();
  }

  /**
   * The same with a shorter wait.
   *
   * @param loginTimeout in seconds; 0: only {@code connectionTimeout} counts
   */
  Connection getConnection(int loginTimeout) throws SQLException {
    long begun = System.nanoTime(); // starting counts as waiting: the call has one deadline
    RunningPool started = pool;
    if (started == null) {
      started = start();
    }
    long wait = timeoutNanos;
    if (loginTimeout > 0) {
      wait = Math.min(wait, Duration.ofSeconds(loginTimeout).toNanos());
    }
    return started.getConnection(wait, System.nanoTime() - begun);
  }

  private synchronized RunningPool start() throws SQLException {
    if (closed) {
      throw closedError();
    }
    RunningPool started = pool;
    if (started == null) {
      started = RunningPool.start(configured());
      listeners.forEach(started::addListener);
      pool = started;
    }
    return started;
  }

  /** The settings, checked; sealed from then on. */
  private synchronized PgStewardConfig configured() throws SQLException {
    PgStewardConfig checked = config;
    if (checked == null) {
      try {
        checked = settings.build();
      } catch (IllegalArgumentException e) {
        throw new SQLNonTransientConnectionException(e.getMessage(), BorrowErrors.UNREACHABLE, e);
      }
      config = checked;
      timeoutNanos = checked.connectionTimeoutNanos();
    }
    return checked;
  }

  private SQLException closedError() {
    PgStewardConfig known = config;
    return BorrowErrors.closed(known == null ? "PgSteward" : known.tenant().toString());
  }

  /**
   * What goes on in the pool; all zero before the first connection was asked for.
   *
   * @throws IllegalArgumentException if the settings are wrong; lists every problem
   */
  public TenantSnapshot snapshot() {
    RunningPool started = pool;
    if (started != null) {
      return started.snapshot();
    }
    return RunningPool.notStarted(settings());
  }

  /** The settings as they stand, checked but not sealed. */
  synchronized PgStewardConfig settings() {
    PgStewardConfig known = config;
    return known == null ? settings.build() : known;
  }

  /** Adds a listener; events from now on reach it. Twice added is told twice. */
  public synchronized void addListener(PgStewardListener listener) {
    Objects.requireNonNull(listener, "listener");
    listeners.add(listener);
    RunningPool started = pool;
    if (started != null && !closed) {
      started.addListener(listener);
    }
  }

  /**
   * Closes idle connections now and those in use when they come back, and gives the slots back to
   * the coordinator. Waits for no transaction and blocks at most a second; what is left then goes
   * on in the background. Waiting borrowers fail at once. DataSources with equal settings that are
   * still open keep the shared connections. Idempotent.
   */
  @Override
  public void close() {
    RunningPool started;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      started = pool;
      if (started != null) {
        pool = null;
        listeners.forEach(started::removeListener);
      }
    }
    if (started != null) {
      started.close();
    }
  }

  /** Whether {@link #close} was called. */
  public synchronized boolean isClosed() {
    return closed;
  }

  /** {@code connectionTimeout} in whole seconds, rounded up; 0: no limit. */
  @Override
  public synchronized int getLoginTimeout() {
    Duration wait = config == null ? settings.connectionTimeout() : Duration.ofNanos(timeoutNanos);
    boolean endless = wait.isZero() || wait.toNanos() >= PgStewardConfig.ENDLESS_NANOS;
    return endless ? 0 : (int) Math.min(Integer.MAX_VALUE, wait.plusNanos(999_999_999).toSeconds());
  }

  /**
   * Sets the longest wait in {@link #getConnection()}, which is {@code connectionTimeout} under
   * JDBC's name. The only setting that may be changed after the start. 0: no limit.
   */
  @Override
  public synchronized void setLoginTimeout(int seconds) throws SQLException {
    if (seconds < 0) {
      throw new SQLException("loginTimeout is at least 0 seconds, but it was " + seconds);
    }
    if (config == null) {
      settings.connectionTimeout(Duration.ofSeconds(seconds));
    } else {
      timeoutNanos = PgStewardConfig.nanos(Duration.ofSeconds(seconds));
    }
  }

  /**
   * This DataSource, if it is of that type.
   *
   * @throws SQLException for any other type; there is no HikariDataSource to unwrap, since one pool
   *     stands on many of HikariCP's
   */
  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    if (type.isInstance(this)) {
      return type.cast(this);
    }
    boolean hikari = type.getName().startsWith("com.zaxxer.hikari.");
    throw new SQLException(
        "a PgStewardDataSource is no "
            + type.getName()
            + (hikari
                ? ": HikariCP keeps each connection, but how many there are is granted and cannot"
                    + " be set; use snapshot() for figures"
                : ""));
  }

  @Override
  public boolean isWrapperFor(Class<?> type) {
    return type.isInstance(this);
  }

  /** Always null: PgSteward logs through SLF4J. */
  @Override
  public @Nullable PrintWriter getLogWriter() {
    return null;
  }

  /**
   * @throws SQLFeatureNotSupportedException unless the writer is null: PgSteward logs through SLF4J
   */
  @Override
  public void setLogWriter(@Nullable PrintWriter writer) throws SQLException {
    if (writer != null) {
      throw new SQLFeatureNotSupportedException("PgSteward logs through SLF4J");
    }
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException("PgSteward logs through SLF4J");
  }

  /** The tenant and what it was told, without secrets. */
  @Override
  public String toString() {
    PgStewardConfig known = config;
    return "PgStewardDataSource[" + (known == null ? "not started" : known.toString()) + "]";
  }

  // ---- settings, sealed by the first getConnection

  /** See {@link PgStewardConfig.Builder#jdbcUrl}. */
  public void setUrl(@Nullable String url) {
    edit(to -> to.jdbcUrl(url));
  }

  /** See {@link PgStewardConfig.Builder#jdbcUrl}. */
  public void setJdbcUrl(@Nullable String url) {
    edit(to -> to.jdbcUrl(url));
  }

  /** See {@link PgStewardConfig.Builder#username}. */
  public void setUser(@Nullable String role) {
    edit(to -> to.username(role));
  }

  /** See {@link PgStewardConfig.Builder#username}. */
  public void setUsername(@Nullable String role) {
    edit(to -> to.username(role));
  }

  /** See {@link PgStewardConfig.Builder#password}. */
  public void setPassword(@Nullable String secret) {
    edit(to -> to.password(secret));
  }

  /** See {@link PgStewardConfig.Builder#coordinator}. */
  public void setCoordinator(@Nullable String addresses) {
    edit(to -> to.coordinator(addresses));
  }

  /** See {@link PgStewardConfig.Builder#coordinatorToken}. */
  public void setCoordinatorToken(@Nullable String secret) {
    edit(to -> to.coordinatorToken(secret));
  }

  /** See {@link PgStewardConfig.Builder#instance}. */
  public void setInstance(@Nullable String name) {
    edit(to -> to.instance(name));
  }

  /** See {@link PgStewardConfig.Builder#tenant}. */
  public void setTenant(@Nullable String label) {
    edit(to -> to.tenant(label));
  }

  /** See {@link PgStewardConfig.Builder#fallbackSlots}. */
  public void setFallbackSlots(int slots) {
    edit(to -> to.fallbackSlots(slots));
  }

  /** See {@link PgStewardConfig.Builder#maxWaiters}. */
  public void setMaxWaiters(int threads) {
    edit(to -> to.maxWaiters(threads));
  }

  /** See {@link PgStewardConfig.Builder#maximumPoolSize}. */
  public void setMaximumPoolSize(int cap) {
    edit(to -> to.maximumPoolSize(cap));
  }

  /** See {@link PgStewardConfig.Builder#connectionTimeout}. In milliseconds. */
  public void setConnectionTimeout(long millis) {
    edit(to -> to.connectionTimeout(Duration.ofMillis(millis)));
  }

  /** See {@link PgStewardConfig.Builder#vanishedClientTimeout}. In milliseconds. */
  public void setVanishedClientTimeout(long millis) {
    edit(to -> to.vanishedClientTimeout(Duration.ofMillis(millis)));
  }

  /** See {@link PgStewardConfig.Builder#validationTimeout}. In milliseconds. */
  public void setValidationTimeout(long millis) {
    edit(to -> to.validationTimeout(Duration.ofMillis(millis)));
  }

  /** See {@link PgStewardConfig.Builder#maxLifetime}. In milliseconds. */
  public void setMaxLifetime(long millis) {
    edit(to -> to.maxLifetime(Duration.ofMillis(millis)));
  }

  /** See {@link PgStewardConfig.Builder#keepaliveTime}. In milliseconds. */
  public void setKeepaliveTime(long millis) {
    edit(to -> to.keepaliveTime(Duration.ofMillis(millis)));
  }

  /** See {@link PgStewardConfig.Builder#idleTimeout}. In milliseconds. */
  public void setIdleTimeout(long millis) {
    edit(to -> to.idleTimeout(Duration.ofMillis(millis)));
  }

  /** See {@link PgStewardConfig.Builder#leakDetectionThreshold}. In milliseconds. */
  public void setLeakDetectionThreshold(long millis) {
    edit(to -> to.leakDetectionThreshold(Duration.ofMillis(millis)));
  }

  /** See {@link PgStewardConfig.Builder#autoCommit}. */
  public void setAutoCommit(boolean on) {
    edit(to -> to.autoCommit(on));
  }

  /** See {@link PgStewardConfig.Builder#readOnly}. */
  public void setReadOnly(boolean on) {
    edit(to -> to.readOnly(on));
  }

  /** See {@link PgStewardConfig.Builder#transactionIsolation}. */
  public void setTransactionIsolation(@Nullable String level) {
    edit(to -> to.transactionIsolation(level));
  }

  /** See {@link PgStewardConfig.Builder#schema}. */
  public void setSchema(@Nullable String name) {
    edit(to -> to.schema(name));
  }

  /** See {@link PgStewardConfig.Builder#connectionInitSql}. */
  public void setConnectionInitSql(@Nullable String statement) {
    edit(to -> to.connectionInitSql(statement));
  }

  /** See {@link PgStewardConfig.Builder#poolName}. */
  public void setPoolName(@Nullable String name) {
    edit(to -> to.poolName(name));
  }

  /** See {@link PgStewardConfig.Builder#property}; null takes it back. */
  public void addDataSourceProperty(String name, @Nullable Object value) {
    edit(to -> to.property(name, value == null ? null : value.toString()));
  }

  /** {@link #addDataSourceProperty} for each of them; those set before stay. */
  public void setDataSourceProperties(Properties properties) {
    for (String name : properties.stringPropertyNames()) {
      addDataSourceProperty(name, properties.getProperty(name));
    }
  }

  private synchronized void edit(Consumer<PgStewardConfig.Builder> change) {
    if (config != null || closed) {
      throw new IllegalStateException(
          "the settings of this PgStewardDataSource are sealed, since "
              + (closed ? "it is closed" : "it has started")
              + "; make another one. How many connections it holds needs no setting: it follows"
              + " what the coordinator grants");
    }
    change.accept(settings);
  }
}
