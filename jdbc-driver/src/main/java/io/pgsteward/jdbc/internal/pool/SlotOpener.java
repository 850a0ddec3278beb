package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.model.Ticker;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens one physical connection, within a deadline. Thread-safe. */
final class SlotOpener {

  private static final Logger LOG = LoggerFactory.getLogger(SlotOpener.class);

  /** Probes that a vanished client's host may leave unanswered. */
  private static final int PROBES = 3;

  /**
   * A backend whose client's host has vanished holds its slot until the server's TCP gives up,
   * after two hours as a rule. Idle for half of the time, then probed; and what was sent is waited
   * for no longer than the whole time. A shorter time that the server, the role or the
   * application's {@code options} set is left alone, and so is what this server does not have.
   */
  private static final String KEEPALIVE =
      """
      SELECT pg_catalog.set_config(w.name, w.value::text, false)
        FROM (VALUES ('tcp_keepalives_idle', %d), ('tcp_keepalives_interval', %d),
                     ('tcp_keepalives_count', %d), ('tcp_user_timeout', %d)) AS w (name, value)
       WHERE CASE w.name
             WHEN 'tcp_user_timeout' THEN pg_catalog.current_setting(w.name, true) = '0'
             ELSE pg_catalog.current_setting(w.name, true)::int > w.value END
      """;

  /** By this a running statement ends, too. Not on every platform: 22023 then. */
  private static final String CHECK =
      """
      SELECT pg_catalog.set_config(w.name, w.value::text, false)
        FROM (VALUES ('client_connection_check_interval', %d)) AS w (name, value)
       WHERE pg_catalog.current_setting(w.name, true) = '0'
      """;

  private final TenantPoolSettings settings;
  private final Ticker ticker;
  private final String url;
  private final Properties properties;
  private final int hosts;

  private final String keepalive;

  /** What is asked about vanished clients, as far as the server takes it; null: nothing. */
  private volatile @Nullable String asked;

  SlotOpener(TenantPoolSettings settings, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
    long millis = settings.vanishedClientTimeout().toMillis();
    long seconds = Math.max(1, TimeUnit.MILLISECONDS.toSeconds(millis));
    this.keepalive =
        KEEPALIVE.formatted(
            Math.max(1, seconds / 2), Math.max(1, seconds / (2 * PROBES)), PROBES, millis);
    // Both in one round trip.
    this.asked = millis == 0 ? null : keepalive + ";" + CHECK.formatted(millis / (2 * PROBES));
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
    try {
      askAboutVanishedClients(raw);
      String initSql = settings.connectionInitSql();
      if (initSql != null) {
        execute(raw, initSql);
      }
    } catch (SQLException | RuntimeException e) {
      closeAfter(e, raw);
      throw e;
    }
    return raw;
  }

  /**
   * Has PostgreSQL end the connection some time after its client has vanished. A server that
   * refuses to is asked for less from then on: a connection without is better than none.
   */
  private void askAboutVanishedClients(Connection raw) throws SQLException {
    String sql = raw instanceof PGConnection ? asked : null;
    while (sql != null) {
      try {
        execute(raw, sql);
        return;
      } catch (SQLException e) {
        if (isLost(e)) {
          throw e;
        }
        LOG.info(
            "PgSteward: {}: this server does not take all that vanishedClientTimeout asks: {}",
            settings.tenant(),
            e.getMessage());
        sql = sql.equals(keepalive) ? null : keepalive;
        asked = sql;
      }
    }
  }

  private static boolean isLost(SQLException failure) {
    String state = String.valueOf(failure.getSQLState());
    return state.startsWith("08") || state.startsWith("57");
  }

  private static void execute(Connection raw, String sql) throws SQLException {
    try (Statement statement = raw.createStatement()) {
      statement.execute(sql);
    }
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
