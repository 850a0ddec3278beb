package io.pgsteward.jdbc.internal.session;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.ConnectionSource;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.PostgresLeaderSession;
import java.net.URLEncoder;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Control sessions of {@code coordinator=local}: on the application's server with its role, in the
 * database {@value #LOCK_DATABASE}, where coordinators take their lock by default, so that a
 * coordinator and a local process meet. An application that may not connect there uses its own
 * database. Immutable.
 */
final class ControlSessions implements LocalCoordinator.Sessions {

  private static final Logger LOG = LoggerFactory.getLogger(ControlSessions.class);

  static final String LOCK_DATABASE = "postgres";

  /** Begins the address under which a process coordinates for itself. */
  static final String ADDRESS_PREFIX = "local-pid-";

  /** No such database; no right to connect; not in pg_hba.conf. */
  private static final Set<String> NOT_THERE = Set.of("3D000", "42501", "28000");

  /** Told by the URL, or the application's own wishes for its sessions. */
  private static final Set<String> NOT_OURS =
      Set.of(
          "PGHOST",
          "PGPORT",
          "PGDBNAME",
          "readOnly",
          "currentSchema",
          "options",
          "ApplicationName",
          "socketTimeout");

  private final String hosts;
  private final @Nullable String own;
  private final Properties login;
  private final Duration lease;
  private final Ticker ticker;

  ControlSessions(MemberSettings settings, Duration lease, Ticker ticker) {
    Properties parsed = Driver.parseURL(settings.controlUrl(), settings.controlProperties());
    if (parsed == null) {
      throw new IllegalArgumentException("pgjdbc does not understand the control session's URL");
    }
    this.hosts = hosts(parsed);
    this.own = parsed.getProperty("PGDBNAME");
    this.login = login(parsed);
    this.lease = lease;
    this.ticker = ticker;
  }

  private static String hosts(Properties parsed) {
    String[] names = parsed.getProperty("PGHOST", "localhost").split(",");
    String[] ports = parsed.getProperty("PGPORT", "5432").split(",");
    StringJoiner hosts = new StringJoiner(",");
    for (int i = 0; i < names.length; i++) {
      hosts.add(names[i] + ":" + ports[Math.min(i, ports.length - 1)]);
    }
    return hosts.toString();
  }

  private static Properties login(Properties parsed) {
    Properties login = new Properties();
    for (String name : parsed.stringPropertyNames()) {
      String value = parsed.getProperty(name);
      if (value != null && !NOT_OURS.contains(name)) {
        login.setProperty(name, value);
      }
    }
    return login;
  }

  @Override
  public LeaderSession create() {
    String address = ADDRESS_PREFIX + ProcessHandle.current().pid();
    return new PostgresLeaderSession(this::open, address, "local", lease, ticker, false);
  }

  private Connection open() throws SQLException {
    try {
      return open(LOCK_DATABASE);
    } catch (SQLException e) {
      if (own == null || own.equals(LOCK_DATABASE) || !NOT_THERE.contains(state(e))) {
        throw e;
      }
      LOG.debug("PgSteward: no control session in database {}, so in {}", LOCK_DATABASE, own, e);
      return open(own);
    }
  }

  private Connection open(String database) throws SQLException {
    String url = "jdbc:postgresql://" + hosts + "/" + URLEncoder.encode(database, UTF_8);
    return ConnectionSource.of(url, login, lease.dividedBy(3)).open();
  }

  private static String state(SQLException e) {
    String state = e.getSQLState();
    return state == null ? "" : state;
  }
}
