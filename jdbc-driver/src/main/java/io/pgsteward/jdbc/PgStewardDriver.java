package io.pgsteward.jdbc;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLNonTransientConnectionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The JDBC driver for {@code jdbc:pgsteward:} URLs, registered by the service loader. Each
 * connection is borrowed from a pool that all callers with equal URL and properties share, so an
 * application that connects for each request holds no more connections than it is granted.
 *
 * <p>The pools live until {@link #closeAll}, until the driver is deregistered from {@link
 * DriverManager}, or until the JVM ends, which they do not hinder: all their threads are daemons.
 *
 * <p>The longest wait is {@code connectionTimeout}, or {@link DriverManager#getLoginTimeout} if
 * that is set and shorter. Thread-safe.
 */
public final class PgStewardDriver implements Driver {

  /** The pools, by URL and properties; guarded by itself. */
  private static final Map<Key, PgStewardDataSource> POOLS = new HashMap<>();

  static {
    try {
      DriverManager.registerDriver(new PgStewardDriver(), PgStewardDriver::closeAll);
    } catch (SQLException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private record Key(String url, Map<String, String> properties) {
    @Override
    public String toString() {
      return ConnectionUrl.shown(url);
    }
  }

  /** A driver; all of them share the same pools. */
  public PgStewardDriver() {}

  /**
   * Borrows a connection; closing it gives it back.
   *
   * @param properties {@code user}, {@code password}, settings of ours and parameters of pgjdbc;
   *     the URL wins over them. Null: none
   * @return null if the URL is not ours
   * @throws SQLException as {@link PgStewardDataSource#getConnection()}
   */
  @Override
  public @Nullable Connection connect(String url, @Nullable Properties properties)
      throws SQLException {
    if (!acceptsURL(url)) {
      return null;
    }
    Key key = new Key(url, texts(properties));
    while (true) {
      PgStewardDataSource pool = pool(key);
      try {
        return pool.getConnection(DriverManager.getLoginTimeout());
      } catch (SQLNonTransientConnectionException e) {
        if (pool.isClosed()) {
          continue; // closed by another thread since we looked it up
        }
        // A pool that waiting does not heal is not kept for a password that nobody uses again.
        if (pool.snapshot().counters().opened() == 0) {
          drop(key, pool);
        }
        throw e;
      }
    }
  }

  private static PgStewardDataSource pool(Key key) throws SQLException {
    synchronized (POOLS) {
      PgStewardDataSource pool = POOLS.get(key);
      if (pool == null) {
        pool = new PgStewardDataSource(config(key));
        POOLS.put(key, pool);
      }
      return pool;
    }
  }

  private static PgStewardConfig config(Key key) throws SQLException {
    PgStewardConfig.Builder builder = PgStewardConfig.builder().jdbcUrl(key.url());
    key.properties().forEach(builder::property);
    try {
      return builder.build();
    } catch (IllegalArgumentException e) {
      throw new SQLNonTransientConnectionException(e.getMessage(), BorrowErrors.UNREACHABLE, e);
    }
  }

  private static void drop(Key key, PgStewardDataSource pool) {
    boolean dropped;
    synchronized (POOLS) {
      dropped = POOLS.remove(key, pool);
    }
    if (dropped) {
      pool.close();
    }
  }

  private static Map<String, String> texts(@Nullable Properties properties) throws SQLException {
    Map<String, String> texts = new HashMap<>();
    if (properties == null) {
      return texts;
    }
    for (Object name : properties.keySet()) {
      if (name instanceof String text && properties.getProperty(text) == null) {
        throw new SQLNonTransientConnectionException(
            "the property " + text + " is no text", BorrowErrors.UNREACHABLE);
      }
    }
    for (String name : properties.stringPropertyNames()) {
      texts.put(name, Objects.requireNonNull(properties.getProperty(name)));
    }
    return texts;
  }

  /**
   * Closes every pool that the driver made, as {@link PgStewardDataSource#close} does. The next
   * {@link #connect} makes a new one. Called when the driver is deregistered.
   */
  public static void closeAll() {
    List<PgStewardDataSource> pools;
    synchronized (POOLS) {
      pools = new ArrayList<>(POOLS.values());
      POOLS.clear();
    }
    pools.forEach(PgStewardDataSource::close);
  }

  /** What goes on in every pool that the driver made and has not closed. */
  public static List<TenantSnapshot> snapshots() {
    List<PgStewardDataSource> pools;
    synchronized (POOLS) {
      pools = new ArrayList<>(POOLS.values());
    }
    return pools.stream().map(PgStewardDataSource::snapshot).toList();
  }

  /** Whether the URL begins with {@code jdbc:pgsteward:}; null is not ours. */
  @Override
  public boolean acceptsURL(@Nullable String url) {
    return url != null && url.startsWith(ConnectionUrl.PREFIX);
  }

  /** Our settings, then pgjdbc's, each with the value that URL and properties give it. */
  @Override
  public DriverPropertyInfo[] getPropertyInfo(String url, @Nullable Properties properties)
      throws SQLException {
    Map<String, String> given = texts(properties);
    ConnectionUrl parsed =
        acceptsURL(url)
            ? ConnectionUrl.parse(
                url,
                problem -> {
                  // a half-written URL still has properties to show
                })
            : null;
    List<DriverPropertyInfo> infos = new ArrayList<>();
    for (Setting setting : Setting.values()) {
      infos.add(info(setting, parsed, given));
    }
    Properties forPgjdbc = new Properties();
    forPgjdbc.putAll(given);
    String pgjdbcUrl = parsed == null ? "jdbc:postgresql:" : parsed.pgjdbcUrl();
    infos.addAll(List.of(new org.postgresql.Driver().getPropertyInfo(pgjdbcUrl, forPgjdbc)));
    return infos.toArray(new DriverPropertyInfo[0]);
  }

  private static DriverPropertyInfo info(
      Setting setting, @Nullable ConnectionUrl parsed, Map<String, String> given) {
    String value = parsed == null ? null : parsed.settings().get(setting);
    if (value == null) {
      value = given.get(setting.parameter());
    }
    Object preset = setting.defaultValue();
    if (value == null && preset != null) {
      value = setting.shown(preset);
    }
    DriverPropertyInfo info = new DriverPropertyInfo(setting.parameter(), value);
    info.description = setting.description();
    if (setting.kind() == Setting.Kind.FLAG) {
      info.choices = new String[] {"true", "false"};
    }
    return info;
  }

  /** The version of this driver is that of its artifact, before 1.0. */
  @Override
  public int getMajorVersion() {
    return 0;
  }

  @Override
  public int getMinorVersion() {
    return 1;
  }

  /** False, as pgjdbc's. */
  @Override
  public boolean jdbcCompliant() {
    return false;
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException("PgSteward logs through SLF4J");
  }
}
