package io.pgsteward.testing;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A running PostgreSQL with the rights of a superuser. Thread-safe; each call opens a connection of
 * its own.
 */
public final class PostgresServer implements AutoCloseable {

  private static final AtomicInteger NAMES = new AtomicInteger();
  private static final String RUN =
      Integer.toString(ThreadLocalRandom.current().nextInt(36 * 36 * 36 * 36), 36);

  private final String host;
  private final int port;
  private final String superuser;
  private final String password;
  private final @Nullable Path log;
  private final Runnable stop;
  private final Consumer<Map<String, String>> restart;
  private final Deque<String> leftovers = new ArrayDeque<>();

  /** A server that cannot be restarted. */
  PostgresServer(
      String host, int port, String superuser, String password, @Nullable Path log, Runnable stop) {
    this(
        host,
        port,
        superuser,
        password,
        log,
        stop,
        settings -> {
          throw Skip.because("only the embedded server can be restarted");
        });
  }

  PostgresServer(
      String host,
      int port,
      String superuser,
      String password,
      @Nullable Path log,
      Runnable stop,
      Consumer<Map<String, String>> restart) {
    this.host = host;
    this.port = port;
    this.superuser = superuser;
    this.password = password;
    this.log = log;
    this.stop = stop;
    this.restart = restart;
  }

  public String host() {
    return host;
  }

  public int port() {
    return port;
  }

  public String superuser() {
    return superuser;
  }

  public String superuserPassword() {
    return password;
  }

  /** {@code jdbc:postgresql://host:port/database}, without user and password. */
  public String url(String database) {
    return "jdbc:postgresql://" + host + ":" + port + "/" + database;
  }

  /** A new connection of the superuser to the database {@code postgres}. */
  public Connection connect() throws SQLException {
    return DriverManager.getConnection(url("postgres"), superuser, password);
  }

  /** A new connection of the superuser. */
  public Connection connect(String database) throws SQLException {
    return DriverManager.getConnection(url(database), superuser, password);
  }

  /** A new connection of a role. */
  public Connection connect(String database, TestRole role) throws SQLException {
    return DriverManager.getConnection(url(database), role.name(), role.password());
  }

  /** Runs statements as superuser in the database {@code postgres}, each in its transaction. */
  public void execute(String... statements) throws SQLException {
    executeIn("postgres", statements);
  }

  /** Runs statements as superuser, each in its own transaction. */
  public void executeIn(String database, String... statements) throws SQLException {
    try (Connection connection = connect(database);
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  /** A name that no other test has: the prefix, then letters and digits. */
  public String newName(String prefix) {
    return prefix + "_" + RUN + NAMES.incrementAndGet();
  }

  /** Makes a login role with a name of its own. */
  public TestRole createRole(String prefix) throws SQLException {
    return createRoleNamed(newName(prefix), "");
  }

  /**
   * Makes a login role with exactly this name.
   *
   * @param options what follows in {@code CREATE ROLE}, e.g. {@code CONNECTION LIMIT 5 IN ROLE
   *     pg_monitor}; may be empty
   */
  public TestRole createRoleNamed(String name, String options) throws SQLException {
    TestRole role = new TestRole(name, "secret of " + name);
    execute(
        "CREATE ROLE "
            + quoted(name)
            + " LOGIN PASSWORD '"
            + role.password().replace("'", "''")
            + "' "
            + options);
    remember("DROP ROLE " + quoted(name));
    return role;
  }

  /** Makes an empty database with a name of its own; every role may connect to it. */
  public String createDatabase(String prefix) throws SQLException {
    return createDatabaseNamed(newName(prefix), superuser);
  }

  /** Makes an empty database with exactly this name. */
  public String createDatabaseNamed(String name, String owner) throws SQLException {
    execute("CREATE DATABASE " + quoted(name) + " OWNER " + quoted(owner));
    remember("DROP DATABASE IF EXISTS " + quoted(name) + " WITH (FORCE)");
    return name;
  }

  private void remember(String drop) {
    synchronized (leftovers) {
      leftovers.push(drop);
    }
  }

  /** Drops what this object has made, the last first. For servers that live on. */
  void dropWhatWasMade() {
    synchronized (leftovers) {
      try (Connection connection = connect();
          Statement statement = connection.createStatement()) {
        while (!leftovers.isEmpty()) {
          statement.execute(leftovers.pop());
        }
      } catch (SQLException e) {
        throw new IllegalStateException("the tests' roles and databases could not be dropped", e);
      }
    }
  }

  /**
   * The file that the server logs to, with each connection and disconnection.
   *
   * @throws IllegalStateException if the server was given by URL, so that its log is elsewhere
   */
  public Path log() {
    if (log == null) {
      throw new IllegalStateException(
          "the log of a server that was given by URL is not known; see hasLog()");
    }
    return log;
  }

  /** Whether the server's log can be read: not when it was given by URL. */
  public boolean hasLog() {
    return log != null;
  }

  /**
   * Restarts the server as an operator does in a hurry: sessions end, data stays.
   *
   * @param settings all server settings beyond our own from now on
   */
  public void restart(Map<String, String> settings) {
    restart.accept(settings);
  }

  /** Stops the server if it was started for this object alone. */
  @Override
  public void close() {
    stop.run();
  }

  /** Quotes an identifier. */
  public static String quoted(String identifier) {
    return '"' + identifier.replace("\"", "\"\"") + '"';
  }

  @Override
  public String toString() {
    return "PostgreSQL at " + host + ":" + port;
  }
}
