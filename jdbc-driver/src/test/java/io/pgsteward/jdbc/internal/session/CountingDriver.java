package io.pgsteward.jdbc.internal.session;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Connections to nowhere that answer every call with nothing; counts how many are open. */
final class CountingDriver implements Driver {

  final AtomicInteger open = new AtomicInteger();
  final AtomicInteger mostOpen = new AtomicInteger();

  @Override
  public Connection connect(String url, Properties info) {
    mostOpen.accumulateAndGet(open.incrementAndGet(), Math::max);
    AtomicBoolean closed = new AtomicBoolean();
    return (Connection)
        Proxy.newProxyInstance(
            CountingDriver.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, arguments) -> call(proxy, method, arguments, closed));
  }

  private @Nullable Object call(
      Object proxy, Method method, Object[] arguments, AtomicBoolean closed) {
    return switch (method.getName()) {
      case "close", "abort" -> {
        if (closed.compareAndSet(false, true)) {
          open.decrementAndGet();
        }
        yield null;
      }
      case "isClosed" -> closed.get();
      case "isValid" -> !closed.get();
      case "getAutoCommit" -> true;
      case "equals" -> proxy == arguments[0];
      case "hashCode" -> System.identityHashCode(proxy);
      case "toString" -> "nowhere";
      default -> nothing(method.getReturnType());
    };
  }

  private static @Nullable Object nothing(Class<?> type) {
    if (type == boolean.class) {
      return false;
    }
    return type == int.class ? Connection.TRANSACTION_READ_COMMITTED : null;
  }

  @Override
  public boolean acceptsURL(String url) {
    return url.startsWith("jdbc:nowhere:");
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
}
