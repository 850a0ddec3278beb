package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.model.Ticker;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.util.Objects;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGConnection;

/** Opens one physical connection, within a deadline. Thread-safe. */
final class SlotOpener {

  private final TenantPoolSettings settings;
  private final Ticker ticker;
  private final String url;
  private final Properties properties;
  private final int hosts;

  SlotOpener(TenantPoolSettings settings, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
    Properties given = settings.properties();
    boolean postgres = settings.driver() instanceof Driver;
    Properties parsed = postgres ? Driver.parseURL(settings.url(), given) : null;
    if (parsed == null) {
      this.url = settings.url();
      this.properties = given;
      this.hosts = 1;
    } else {
      // What the URL says is in the properties now, where ours can stand beside it.
      this.url = withoutParameters(settings.url());
      this.properties = withOurs(flat(parsed));
      this.hosts = parsed.getProperty("PGHOST", "").split(",", -1).length;
    }
  }

  private static String withoutParameters(String url) {
    int question = url.indexOf('?');
    return question < 0 ? url : url.substring(0, question);
  }

  private static Properties flat(Properties nested) {
    Properties flat = new Properties();
    for (String name : nested.stringPropertyNames()) {
      if (!name.equals("PGHOST") && !name.equals("PGPORT") && !name.equals("PGDBNAME")) {
        flat.setProperty(name, Objects.requireNonNull(nested.getProperty(name)));
      }
    }
    return flat;
  }

  private Properties withOurs(Properties users) {
    String factory = users.getProperty("socketFactory");
    if (factory != null) {
      users.setProperty(LingeringSocketFactory.USERS_FACTORY, factory);
    }
    users.setProperty("socketFactory", LingeringSocketFactory.class.getName());
    users.putIfAbsent("tcpKeepAlive", "true");
    // With a login timeout pgjdbc connects on a thread of its own, which nobody can end. Ours is
    // the shorter of the two, kept by the socket.
    users.setProperty("loginTimeout", "0");
    if (settings.applicationName() != null) {
      users.setProperty("ApplicationName", settings.applicationName());
    }
    return users;
  }

  /**
   * Sockets for one attempt, with its deadline. That counts from the decision to open: after a
   * pause of the process nothing is opened on a grant from before it.
   *
   * @param decidedNanos when the gate decided to open
   */
  Wires attempt(long decidedNanos) {
    return new Wires(
        ticker,
        decidedNanos + settings.connectTimeout().toNanos(),
        hosts,
        settings.closeTimeout().toNanos());
  }

  /**
   * Connects and runs {@code connectionInitSql}.
   *
   * @throws SQLException if that fails; then nothing is left open that {@code wires} does not know
   */
  Connection open(Wires wires) throws SQLException {
    Connection raw = connect(wires);
    String initSql = settings.connectionInitSql();
    if (initSql != null) {
      try (Statement statement = raw.createStatement()) {
        statement.execute(initSql);
      } catch (SQLException | RuntimeException e) {
        closeAfter(e, raw);
        throw e;
      }
    }
    return raw;
  }

  private Connection connect(Wires wires) throws SQLException {
    wires.enter();
    Connection raw;
    try {
      raw = settings.driver().connect(url, properties);
    } finally {
      wires.exit();
    }
    if (raw == null) {
      throw new SQLNonTransientConnectionException(
          "the driver does not understand the URL of tenant " + settings.tenant(), "22023");
    }
    return raw;
  }

  private static void closeAfter(Exception failure, Connection raw) {
    try {
      raw.close();
    } catch (SQLException e) {
      failure.addSuppressed(e);
    }
  }

  /** The process id of its backend; 0 when the driver does not tell. */
  static int pidOf(Connection raw) {
    try {
      @Nullable PGConnection postgres =
          raw instanceof PGConnection own
              ? own
              : raw.isWrapperFor(PGConnection.class) ? raw.unwrap(PGConnection.class) : null;
      return postgres == null ? 0 : postgres.getBackendPID();
    } catch (SQLException e) {
      return 0;
    }
  }
}
