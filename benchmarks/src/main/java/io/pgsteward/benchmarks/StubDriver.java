package io.pgsteward.benchmarks;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.util.Properties;
import java.util.concurrent.Executor;
import java.util.logging.Logger;
import org.apache.commons.dbcp2.DelegatingConnection;
import org.jspecify.annotations.Nullable;

/** A driver without a database, the same for every pool that is compared: only pools cost time. */
final class StubDriver implements Driver {

  static final String URL = "jdbc:stub:";

  @Override
  public @Nullable Connection connect(String url, Properties info) {
    return acceptsURL(url) ? new StubConnection() : null;
  }

  @Override
  public boolean acceptsURL(String url) {
    return url.startsWith(URL);
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
  public Logger getParentLogger() {
    return Logger.getGlobal();
  }

  /** Answers what a pool asks when it sets a connection up, lends it and takes it back. */
  @SuppressWarnings("NullAway") // the base class is a wrapper; there is nothing to wrap
  private static final class StubConnection extends DelegatingConnection<Connection> {

    private volatile boolean ended;

    StubConnection() {
      super(null);
    }

    @Override
    public void close() {
      ended = true;
    }

    @Override
    public void abort(Executor executor) {
      ended = true;
    }

    @Override
    public boolean isClosed() {
      return ended;
    }

    @Override
    public void clearWarnings() {}

    @Override
    public boolean isValid(int timeout) {
      return !ended;
    }

    @Override
    public void commit() {}

    @Override
    public void rollback() {}

    @Override
    public boolean getAutoCommit() {
      return true;
    }

    @Override
    public void setAutoCommit(boolean autoCommit) {}

    @Override
    public boolean isReadOnly() {
      return false;
    }

    @Override
    public void setReadOnly(boolean readOnly) {}

    @Override
    public int getTransactionIsolation() {
      return TRANSACTION_READ_COMMITTED;
    }

    @Override
    public void setTransactionIsolation(int level) {}

    @Override
    public int getNetworkTimeout() {
      return 0;
    }

    @Override
    public void setNetworkTimeout(Executor executor, int milliseconds) {}

    @Override
    public String getSchema() {
      return "public";
    }

    @Override
    public void setSchema(String schema) {}

    @Override
    public String getCatalog() {
      return "stub";
    }

    @Override
    public void setCatalog(String catalog) {}

    @Override
    public boolean isWrapperFor(Class<?> type) {
      return false;
    }
  }
}
