package io.pgsteward.testing;

import java.net.URI;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Gives tests a PostgreSQL, as the system property {@code pgsteward.test.postgres} says:
 *
 * <ul>
 *   <li>{@code embedded} (the default): programs from Maven artifacts, run as child processes;
 *   <li>{@code container}: Testcontainers; without Docker the tests are skipped and say so;
 *   <li>a JDBC URL of a superuser, {@code jdbc:postgresql://host/db?user=..&password=..}: tests
 *       make roles and databases there and drop them when the JVM ends; tests that need a server of
 *       their own are skipped and say so.
 * </ul>
 *
 * <p>Use:
 *
 * <pre>{@code
 * static final PostgresServer POSTGRES = TestPostgres.shared();
 *
 * try (PostgresServer postgres = TestPostgres.with("max_connections", "20").start()) { ... }
 * }</pre>
 *
 * <p>In a static field a skip would look like an error, so call {@code shared()} in
 * {@code @BeforeAll}. No server outlives the JVM, however the JVM ends.
 */
public final class TestPostgres {

  /** Name of the system property. */
  public static final String PROPERTY = "pgsteward.test.postgres";

  /** Names the directory of another PostgreSQL version's programs; see {@link #further}. */
  public static final String PROGRAMS_PROPERTY = "pgsteward.test.postgres.bin";

  private static @Nullable PostgresServer shared;
  private static @Nullable PostgresServer further;

  private final Map<String, String> settings = new LinkedHashMap<>();
  private int port;

  private TestPostgres() {}

  /** The server that all tests of this JVM share. Its {@code close()} does nothing. */
  public static synchronized PostgresServer shared() {
    PostgresServer server = shared;
    if (server == null) {
      String where = where();
      server = where.startsWith("jdbc:") ? given(where) : withoutStop(new TestPostgres().start());
      shared = server;
    }
    return server;
  }

  /**
   * A server of another version, shared by all tests of this JVM, from the programs in the
   * directory that {@link #PROGRAMS_PROPERTY} names; without it the test is skipped and says so.
   */
  public static synchronized PostgresServer further() {
    String programs = System.getProperty(PROGRAMS_PROPERTY, "");
    if (programs.isEmpty()) {
      throw Skip.because("it needs a further PostgreSQL, and " + PROGRAMS_PROPERTY + " is not set");
    }
    PostgresServer server = further;
    if (server == null) {
      server = withoutStop(new TestPostgres().startPrograms(Path.of(programs)));
      further = server;
    }
    return server;
  }

  /** Describes a server of its own with this setting, to be started by {@link #start}. */
  public static TestPostgres with(String setting, String value) {
    return new TestPostgres().and(setting, value);
  }

  /** Describes a server of its own with default settings, to be started by {@link #start}. */
  public static TestPostgres own() {
    return new TestPostgres();
  }

  /** A further setting. */
  public TestPostgres and(String setting, String value) {
    settings.put(setting, value);
    return this;
  }

  /** The port to listen on, for a server that has to come back at the same place. */
  public TestPostgres port(int port) {
    this.port = port;
    return this;
  }

  /** Starts the server. The caller closes it. */
  public PostgresServer start() {
    String where = where();
    return switch (where) {
      case "embedded" -> startEmbedded();
      case "container" -> ContainerServer.start(settings, port);
      default ->
          throw Skip.because(
              "it needs a PostgreSQL of its own, and " + PROPERTY + " names one server");
    };
  }

  /** Starts the server from the embedded programs, whatever the property says. */
  public PostgresServer startEmbedded() {
    return startPrograms(PostgresBinaries.directory().resolve("bin"));
  }

  private PostgresServer startPrograms(Path programs) {
    EmbeddedServer server = EmbeddedServer.start(programs, settings, port);
    return new PostgresServer(
        "127.0.0.1",
        server.port(),
        EmbeddedServer.SUPERUSER,
        EmbeddedServer.PASSWORD,
        server.log(),
        server::close,
        server::restart);
  }

  private static String where() {
    String where = System.getProperty(PROPERTY, "embedded");
    if (!where.equals("embedded")
        && !where.equals("container")
        && !where.startsWith("jdbc:postgresql://")) {
      throw new IllegalStateException(
          PROPERTY
              + " is embedded, container, or jdbc:postgresql://host[:port]/db?user=..&password=..,"
              + " but it was "
              + where);
    }
    return where;
  }

  private static PostgresServer withoutStop(PostgresServer server) {
    return new PostgresServer(
        server.host(),
        server.port(),
        server.superuser(),
        server.superuserPassword(),
        server.log(),
        () -> {});
  }

  private static PostgresServer given(String url) {
    URI uri = URI.create(url.substring("jdbc:".length()));
    Map<String, String> parameters = new LinkedHashMap<>();
    for (String parameter : (uri.getQuery() == null ? "" : uri.getQuery()).split("&")) {
      int equals = parameter.indexOf('=');
      if (equals > 0) {
        parameters.put(parameter.substring(0, equals), parameter.substring(equals + 1));
      }
    }
    PostgresServer server =
        new PostgresServer(
            uri.getHost(),
            uri.getPort() < 0 ? 5432 : uri.getPort(),
            parameters.getOrDefault("user", "postgres"),
            parameters.getOrDefault("password", ""),
            null,
            () -> {});
    Runtime.getRuntime().addShutdownHook(new Thread(server::dropWhatWasMade));
    return server;
  }
}
