package io.pgsteward.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A PostgreSQL server as a child process with a fresh data directory.
 *
 * <p>A guard process reads from a pipe that this JVM holds open. When the pipe closes, because
 * {@link #close} was called or because the JVM ended in whatever way, the guard stops the server
 * and deletes its files.
 */
final class EmbeddedServer implements AutoCloseable {

  static final String SUPERUSER = "postgres";
  static final String PASSWORD = "postgres";

  private static final int STARTS = 5;
  private static final long START_SECONDS = 60;

  private static final String GUARD =
      "trap '' INT TERM HUP; cat >/dev/null; kill -INT $1 2>/dev/null; n=0;"
          + " while kill -0 $1 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done;"
          + " kill -QUIT $1 2>/dev/null; rm -rf \"$2\"";

  /** What a start needs. */
  private record Installation(Path programs, Path home, Path data, RunAs user) {}

  private final Installation installation;
  private final int port;
  private final Path log;
  private Process postgres;
  private Process guard;

  private EmbeddedServer(
      Installation installation, int port, Path log, Process postgres, Process guard) {
    this.installation = installation;
    this.port = port;
    this.log = log;
    this.postgres = postgres;
    this.guard = guard;
  }

  /**
   * Starts a server and waits until it answers.
   *
   * @param programs the directory of {@code initdb} and {@code postgres}
   * @param settings server settings beyond our own
   * @param port where it listens; 0 for any free port
   */
  static EmbeddedServer start(Path programs, Map<String, String> settings, int port) {
    try {
      Path home = Files.createTempDirectory("pgsteward-data-");
      try {
        RunAs user = RunAs.find();
        Path data = initialise(programs, home, user);
        Installation installation = new Installation(programs, home, data, user);
        for (int i = 1; ; i++) {
          EmbeddedServer server = tryStart(installation, settings, port);
          if (server != null) {
            return server;
          }
          if (port != 0 || i == STARTS) {
            throw new IllegalStateException(
                "PostgreSQL did not start:\n" + Files.readString(home.resolve("postgres.log")));
          }
        }
      } catch (IOException | RuntimeException e) {
        PostgresBinaries.delete(home);
        throw e;
      }
    } catch (IOException e) {
      throw new UncheckedIOException("PostgreSQL could not be started", e);
    }
  }

  private static Path initialise(Path programs, Path home, RunAs user) throws IOException {
    Path data = Files.createDirectory(home.resolve("data"));
    Path password = Files.writeString(home.resolve("password"), PASSWORD + "\n");
    user.own(home);
    List<String> command = new ArrayList<>();
    command.addAll(
        user.command(
            programs.resolve("initdb").toString(),
            "-D",
            data.toString(),
            "-U",
            SUPERUSER,
            "-A",
            "scram-sha-256",
            "--pwfile=" + password,
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync"));
    if (knowsIterations(programs)) {
      command.addAll(List.of("-c", "scram_iterations=1"));
    }
    Process initdb = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output;
    try (InputStream in = initdb.getInputStream()) {
      output = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    if (waitFor(initdb) != 0) {
      throw new IllegalStateException(
          "initdb failed (" + user + "):\n" + output + "\n" + String.join(" ", command));
    }
    return data;
  }

  private static @Nullable EmbeddedServer tryStart(
      Installation installation, Map<String, String> settings, int wanted) throws IOException {
    int port = wanted == 0 ? freePort() : wanted;
    Path home = installation.home();
    Path log = home.resolve("postgres.log");
    List<String> command = new ArrayList<>();
    String program = installation.programs().resolve("postgres").toString();
    String data = installation.data().toString();
    command.addAll(List.of(program, "-D", data, "-p", "" + port, "-F"));
    Map<String, String> all = ownSettings();
    if (!knowsIterations(installation.programs())) {
      all.remove("scram_iterations");
    }
    all.putAll(settings);
    all.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
    Process postgres =
        new ProcessBuilder(installation.user().command(command.toArray(String[]::new)))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    Process guard =
        new ProcessBuilder("sh", "-c", GUARD, "guard", "" + postgres.pid(), home.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    EmbeddedServer server = new EmbeddedServer(installation, port, log, postgres, guard);
    if (server.awaitReady()) {
      return server;
    }
    String text = Files.readString(log);
    boolean portTaken = text.contains("could not bind");
    guard.destroyForcibly();
    postgres.destroyForcibly();
    if (portTaken && wanted == 0) {
      return null;
    }
    throw new IllegalStateException("PostgreSQL did not start on port " + port + ":\n" + text);
  }

  static Map<String, String> ownSettings() {
    Map<String, String> own = new LinkedHashMap<>();
    own.put("listen_addresses", "127.0.0.1");
    own.put("unix_socket_directories", "");
    own.put("shared_buffers", "32MB");
    own.put("full_page_writes", "off");
    own.put("synchronous_commit", "off");
    own.put("wal_level", "minimal");
    own.put("max_wal_senders", "0");
    own.put("jit", "off");
    // The witness reads these lines.
    own.put("log_connections", "on");
    own.put("log_disconnections", "on");
    own.put("log_line_prefix", ConnectionLog.LINE_PREFIX);
    own.put("lc_messages", "C");
    own.put("log_checkpoints", "off");
    // One round of hashing: the password is checked, and costs a test no time.
    own.put("scram_iterations", "1");
    return own;
  }

  private boolean awaitReady() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (System.nanoTime() - end < 0) {
      if (!postgres.isAlive()) {
        return false;
      }
      try (Connection connection = DriverManager.getConnection(url(), SUPERUSER, PASSWORD)) {
        return connection.isValid(5);
      } catch (SQLException notYet) {
        pause();
      }
    }
    return false;
  }

  String url() {
    return "jdbc:postgresql://127.0.0.1:" + port + "/postgres";
  }

  int port() {
    return port;
  }

  Path log() {
    return log;
  }

  /** Process id of the server's first process. */
  long pid() {
    return postgres.pid();
  }

  /** Stops the server as {@code pg_ctl stop -m fast} does, and starts it with other settings. */
  void restart(Map<String, String> settings) {
    try {
      guard.destroyForcibly(); // it would delete the files
      waitFor(guard);
      guard.getOutputStream().close();
      waitFor(new ProcessBuilder("kill", "-INT", "" + postgres.pid()).inheritIO().start());
      waitFor(postgres);
      EmbeddedServer again = tryStart(installation, settings, port);
      if (again == null) {
        throw new IllegalStateException("PostgreSQL did not come back on port " + port);
      }
      postgres = again.postgres;
      guard = again.guard;
    } catch (IOException e) {
      throw new UncheckedIOException("PostgreSQL could not be restarted", e);
    }
  }

  /** Stops the server as {@code pg_ctl stop -m fast} does, and deletes its files. */
  @Override
  public void close() {
    try {
      guard.getOutputStream().close();
    } catch (IOException e) {
      guard.destroyForcibly();
      postgres.destroyForcibly();
    }
    waitFor(guard);
    waitFor(postgres);
  }

  /** PostgreSQL 16 came with scram_iterations and initdb's option -c. */
  private static boolean knowsIterations(Path programs) throws IOException {
    Process process =
        new ProcessBuilder(programs.resolve("postgres").toString(), "--version")
            .redirectErrorStream(true)
            .start();
    try (InputStream in = process.getInputStream()) {
      String version = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      Matcher major = Pattern.compile("PostgreSQL\\) ([0-9]+)").matcher(version);
      if (!major.find()) {
        throw new IllegalStateException("not a PostgreSQL in " + programs + ": " + version);
      }
      return Integer.parseInt(major.group(1)) >= 16;
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(50);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while PostgreSQL was starting", e);
    }
  }

  private static int waitFor(Process process) {
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a process", e);
    }
  }
}
