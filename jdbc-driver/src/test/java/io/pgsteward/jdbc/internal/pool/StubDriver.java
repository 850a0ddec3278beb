package io.pgsteward.jdbc.internal.pool;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * A driver without a database. What its connections do wrong is set per test; it counts how many
 * are alive and the most that ever were. Thread-safe.
 */
final class StubDriver implements Driver {

  /** What happens when a connection is asked for, before there is one. */
  @FunctionalInterface
  interface OnConnect {

    void before(int attempt) throws SQLException;
  }

  final List<StubConnection> made = new CopyOnWriteArrayList<>();
  final AtomicInteger attempts = new AtomicInteger();
  final AtomicInteger alive = new AtomicInteger();
  final AtomicInteger mostAlive = new AtomicInteger();
  volatile OnConnect onConnect = attempt -> {};
  volatile Consumer<StubConnection> onMade = connection -> {};

  /** How many of the next connections cannot be set up. */
  final AtomicInteger failSetups = new AtomicInteger();

  StubConnection last() {
    return made.get(made.size() - 1);
  }

  @Override
  public @Nullable Connection connect(String url, Properties info) throws SQLException {
    if (!acceptsURL(url)) {
      return null;
    }
    onConnect.before(attempts.incrementAndGet());
    StubConnection connection = new StubConnection();
    if (failSetups.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      connection.failOnSetup = new SQLException("cannot be set up", "08006");
    }
    onMade.accept(connection);
    made.add(connection);
    mostAlive.accumulateAndGet(alive.incrementAndGet(), Math::max);
    return connection;
  }

  @Override
  public boolean acceptsURL(String url) {
    return url.startsWith("jdbc:stub:");
  }

  @Override
  public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) {
    return new DriverPropertyInfo[0];
  }

  @Override
  public int getMajorVersion() {
    return 1;
  }

  @Override
  public int getMinorVersion() {
    return 0;
  }

  @Override
  public boolean jdbcCompliant() {
    return false;
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException();
  }

  private static <T> T refusing(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            StubDriver.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (method.getDeclaringClass() == Object.class) {
                return method.getName().equals("hashCode") ? (Object) 1 : "stub";
              }
              throw new SQLFeatureNotSupportedException(method.getName());
            }));
  }

  /** A connection whose every failure can be switched on. */
  final class StubConnection extends DelegatingConnection {

    volatile boolean closed;
    volatile boolean valid = true;
    volatile @Nullable SQLException failOnRollback;
    volatile @Nullable SQLException failOnClose;
    volatile @Nullable SQLException failOnUse;
    volatile @Nullable SQLException failOnSetup;
    volatile Runnable onValidate = () -> {};
    final AtomicInteger validations = new AtomicInteger();
    volatile Runnable onClose = () -> {};
    private boolean autoCommit = true;
    private boolean readOnly;
    private int isolation = TRANSACTION_READ_COMMITTED;
    private int networkTimeout;
    private @Nullable String schema = "public";

    StubConnection() {
      super(refusing(Connection.class));
    }

    @Override
    public void close() throws SQLException {
      onClose.run();
      end();
      SQLException failure = failOnClose;
      if (failure != null) {
        throw failure;
      }
    }

    @Override
    public void abort(Executor executor) {
      end();
    }

    private void end() {
      synchronized (this) {
        if (closed) {
          return;
        }
        closed = true;
      }
      alive.decrementAndGet();
    }

    private void check() throws SQLException {
      if (closed) {
        throw new SQLException("this connection has been closed", "08003");
      }
    }

    @Override
    public boolean isClosed() {
      return closed;
    }

    @Override
    public void clearWarnings() throws SQLException {
      check();
    }

    @Override
    public boolean isValid(int timeout) {
      onValidate.run();
      return valid && !closed;
    }

    @Override
    public Statement createStatement() throws SQLException {
      check();
      SQLException failure = failOnUse;
      if (failure != null) {
        throw failure;
      }
      return (Statement)
          Proxy.newProxyInstance(
              StubDriver.class.getClassLoader(),
              new Class<?>[] {Statement.class},
              (proxy, method, arguments) ->
                  switch (method.getName()) {
                    case "execute" -> false;
                    case "close", "clearWarnings" -> null;
                    case "hashCode" -> System.identityHashCode(proxy);
                    case "equals" -> proxy == arguments[0];
                    default -> throw new SQLFeatureNotSupportedException(method.getName());
                  });
    }

    @Override
    public void commit() throws SQLException {
      check();
    }

    @Override
    public void rollback() throws SQLException {
      SQLException failure = failOnRollback;
      if (failure != null) {
        throw failure;
      }
      check();
    }

    @Override
    public void setAutoCommit(boolean value) throws SQLException {
      check();
      autoCommit = value;
    }

    @Override
    public boolean getAutoCommit() {
      return autoCommit;
    }

    @Override
    public void setReadOnly(boolean value) throws SQLException {
      SQLException failure = failOnSetup;
      if (failure != null) {
        throw failure;
      }
      check();
      readOnly = value;
    }

    @Override
    public boolean isReadOnly() {
      return readOnly;
    }

    @Override
    public void setTransactionIsolation(int level) throws SQLException {
      check();
      isolation = level;
    }

    @Override
    public int getTransactionIsolation() {
      return isolation;
    }

    @Override
    public void setNetworkTimeout(@Nullable Executor executor, int milliseconds) {
      networkTimeout = milliseconds;
    }

    @Override
    public int getNetworkTimeout() {
      return networkTimeout;
    }

    @Override
    public void setSchema(@Nullable String value) {
      schema = value;
    }

    @Override
    public @Nullable String getSchema() {
      return schema;
    }

    @Override
    public String toString() {
      return "stub connection" + (closed ? ", closed" : "");
    }
  }
}
