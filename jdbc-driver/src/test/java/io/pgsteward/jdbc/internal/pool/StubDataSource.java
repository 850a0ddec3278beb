package io.pgsteward.jdbc.internal.pool;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A DataSource that can do nothing but connect. */
record StubDataSource(Source source) implements DataSource {

  @FunctionalInterface
  interface Source {

    Connection get() throws SQLException;
  }

  @Override
  public Connection getConnection() throws SQLException {
    return source.get();
  }

  @Override
  public Connection getConnection(String user, String password) throws SQLException {
    return source.get();
  }

  @Override
  public @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  public void setLogWriter(@Nullable PrintWriter out) {}

  @Override
  public void setLoginTimeout(int seconds) {}

  @Override
  public int getLoginTimeout() {
    return 1;
  }

  @Override
  public Logger getParentLogger() {
    return Logger.getGlobal();
  }

  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    throw new SQLException("not a wrapper for " + type);
  }

  @Override
  public boolean isWrapperFor(Class<?> type) {
    return false;
  }
}
