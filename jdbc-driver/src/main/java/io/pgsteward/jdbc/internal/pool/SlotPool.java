package io.pgsteward.jdbc.internal.pool;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.metrics.IMetricsTracker;
import com.zaxxer.hikari.pool.HikariPool;
import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.concurrent.ThreadFactory;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The HikariCP pool of one slot: exactly one connection, opened when we say and closed when we say.
 * The only class that touches HikariCP; what it relies on is written down in {@code
 * HikariContractTest}. Thread-safe.
 *
 * <p>No borrower ever waits inside HikariCP for longer than a moment. {@link #open} makes its adder
 * thread connect without anybody waiting there, by raising {@code minimumIdle} to 1 until the
 * connect has begun; borrowers wait in the gate, where any slot may serve them.
 */
final class SlotPool {

  /** What happens inside the pool. Called on HikariCP's threads or on the returning thread. */
  interface Owner {

    /**
     * Opens the slot's connection.
     *
     * @throws SQLException if it fails or if the slot is not to be opened
     */
    PhysicalConnection connect(Slot slot) throws SQLException;

    /** The connection is set up; HikariCP has it, or will within microseconds. */
    void ready(Slot slot);

    /** A borrower has returned the connection; HikariCP will have it within microseconds. */
    void returned(Slot slot);
  }

  private static final int SPINS = 200;
  private static final int YIELDS = 50;
  private static final int SHORT_WAITS = 5;

  private final Slot slot;
  private final Owner owner;
  private final HikariConfig config;
  private final HikariPool hikari;

  SlotPool(
      Slot slot,
      Owner owner,
      TenantPoolSettings settings,
      PoolRuntime runtime,
      ThreadFactory threads) {
    this.slot = slot;
    this.owner = owner;
    this.config = configOf(settings);
    config.setDataSource(new Source());
    config.setMetricsTrackerFactory((name, stats) -> new Tracker());
    config.setThreadFactory(threads);
    config.setScheduledExecutor(runtime.housekeeper());
    this.hikari = new HikariPool(config);
  }

  private static HikariConfig configOf(TenantPoolSettings settings) {
    HikariConfig config = new HikariConfig();
    // A file named by HikariCP's system property is the application's, not ours.
    config.setJdbcUrl(null);
    config.setUsername(null);
    config.setPassword(null);
    config.setConnectionInitSql(null);
    config.setConnectionTestQuery(null);
    config.setAllowPoolSuspension(false);
    config.setRegisterMbeans(false);
    config.setIsolateInternalQueries(false);
    config.setPoolName("pgsteward " + settings.tenant());
    config.setMaximumPoolSize(1);
    config.setMinimumIdle(0);
    config.setInitializationFailTimeout(-1);
    config.setConnectionTimeout(Integer.MAX_VALUE);
    config.setValidationTimeout(Math.max(250, settings.validationTimeout().toMillis()));
    config.setMaxLifetime(settings.maxLifetime().toMillis());
    config.setIdleTimeout(settings.idleTimeout().toMillis());
    config.setKeepaliveTime(settings.keepaliveTime().toMillis());
    config.setLeakDetectionThreshold(settings.leakDetectionThreshold().toMillis());
    config.setAutoCommit(settings.autoCommit());
    config.setReadOnly(settings.readOnly());
    config.setTransactionIsolation(settings.transactionIsolation());
    config.setCatalog(settings.catalog());
    config.setSchema(settings.schema());
    return config;
  }

  /** Has the connection opened on HikariCP's own thread; {@link Owner#connect} is called there. */
  void open() {
    if (hikari.getTotalConnections() > 0) {
      takeBack();
    }
    config.setMinimumIdle(1);
    hikari.addBagItem(1);
  }

  /**
   * Fetches the connection for the thread that owns the slot. Waits for no opening.
   *
   * @param nanos what the thread has left; bounds the test of a connection that was idle for long
   * @return HikariCP's proxy, or null if HikariCP does not give it now: it was found dead and is
   *     being closed, or HikariCP is testing it
   */
  @Nullable Connection lend(PhysicalConnection physical, long nanos) {
    physical.lending(nanos);
    Connection proxy = fetch(physical);
    if (proxy != null) {
      physical.lentAs(proxy);
    }
    return proxy;
  }

  private @Nullable Connection fetch(PhysicalConnection physical) {
    if (slot.borrowerThread == Thread.currentThread().getId() || hasComeBack(physical)) {
      Connection proxy = tryOnce(0);
      if (proxy != null) {
        return proxy;
      }
    }
    for (int i = 0; i < SHORT_WAITS && !physical.isClosing() && !tested(physical); i++) {
      Connection proxy = tryOnce(1);
      if (proxy != null) {
        return proxy;
      }
    }
    return null;
  }

  private static boolean tested(PhysicalConnection physical) {
    return physical.testBegan() != 0;
  }

  /**
   * {@link Owner#returned} and {@link Owner#ready} come a moment before HikariCP has the
   * connection. Waits that moment, so that HikariCP is not asked in vain.
   */
  @SuppressWarnings("ThreadPriorityCheck") // the other thread is a few instructions from done
  private boolean hasComeBack(PhysicalConnection physical) {
    for (int i = 0; i < SPINS + YIELDS; i++) {
      if (hikari.getIdleConnections() > 0) {
        return true;
      }
      if (physical.isClosing()) {
        return false;
      }
      if (i < SPINS) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
    return false;
  }

  private @Nullable Connection tryOnce(long millis) {
    try {
      return hikari.getConnection(millis);
    } catch (SQLException e) {
      // Its text speaks of a pool of one; the gate makes the error that the application sees.
      return null;
    }
  }

  /** Whether HikariCP would give the connection to a borrower at once. */
  boolean isIdle() {
    return hikari.getIdleConnections() > 0;
  }

  /** Whether HikariCP has no connection, not even one that it is about to forget. */
  boolean isEmpty() {
    return hikari.getTotalConnections() == 0;
  }

  /** Closes an idle connection now, one in use when it comes back. */
  void evict() {
    hikari.softEvictConnections();
  }

  /** Takes a connection that is closed already out of HikariCP's hands, lent or not. */
  void takeBack() {
    hikari.softEvictConnections();
    PhysicalConnection physical = slot.physical;
    Connection proxy = physical == null ? null : physical.lentAs();
    if (proxy != null && hikari.getTotalConnections() > hikari.getIdleConnections()) {
      hikari.evictConnection(proxy);
    }
  }

  /** Ends the pool. Blocks; call it only when the slot is empty. */
  void shutdown() throws InterruptedException {
    hikari.shutdown();
  }

  /** Where HikariCP gets its connection from. */
  private final class Source implements DataSource {

    @Override
    public Connection getConnection() throws SQLException {
      config.setMinimumIdle(0);
      return owner.connect(slot);
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
      return getConnection();
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
      return null;
    }

    @Override
    public void setLogWriter(@Nullable PrintWriter out) {}

    @Override
    public void setLoginTimeout(int seconds) {}

    /** How long HikariCP's shutdown waits for its adder thread. */
    @Override
    public int getLoginTimeout() {
      return 1;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
      throw new SQLFeatureNotSupportedException("this DataSource does not use java.util.logging");
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
      throw new SQLException("not a wrapper for " + type.getName());
    }

    @Override
    public boolean isWrapperFor(Class<?> type) {
      return false;
    }
  }

  /** HikariCP's metrics as the only hook at which it tells of a return. */
  private final class Tracker implements IMetricsTracker {

    @Override
    public void recordConnectionUsageMillis(long elapsedBorrowedMillis) {
      owner.returned(slot);
    }

    /** Called at the end of every opening, whether it succeeded or not. */
    @Override
    public void recordConnectionCreatedMillis(long connectionCreatedMillis) {
      owner.ready(slot);
    }
  }
}
