package io.pgsteward.testing;

import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MalformedMessageException;
import io.pgsteward.protocol.StatusResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator's runnable jar as its own process. It can be killed and started again at the same
 * address. Used by one thread.
 */
public final class CoordinatorProcess implements AutoCloseable {

  /** System property that names the jar; without it the source tree is searched. */
  public static final String JAR = "pgsteward.coordinator.jar";

  private static final Duration START = Duration.ofSeconds(40);

  private final Path jar;
  private final Path config;
  private final int port;
  private final Consumer<String> onLine;
  private JvmProcess process;

  private CoordinatorProcess(Path jar, Path config, int port, Consumer<String> onLine) {
    this.jar = jar;
    this.config = config;
    this.port = port;
    this.onLine = onLine;
    this.process = launch();
  }

  /**
   * Starts a coordinator. It is not waited for; see {@link #awaitReady}.
   *
   * @param config the configuration file, which listens on 127.0.0.1 and this port
   * @param onLine gets each line of the coordinator's output
   */
  public static CoordinatorProcess start(Path config, int port, Consumer<String> onLine) {
    return new CoordinatorProcess(jar(), config, port, onLine);
  }

  /** Runs the jar with any arguments until it ends by itself. */
  public static JvmProcess run(String... arguments) {
    return JvmProcess.startJar("coordinator", jar(), List.of(arguments), line -> {});
  }

  /** A port of 127.0.0.1 that is free now. */
  public static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private JvmProcess launch() {
    return JvmProcess.startJar(
        "coordinator", jar, List.of("serve", "--config", config.toString()), onLine);
  }

  private static Path jar() {
    String given = System.getProperty(JAR);
    if (given != null) {
      return Path.of(given);
    }
    Path inTree = Path.of("coordinator-server", "target", "pgsteward-coordinator.jar");
    for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
      if (Files.isRegularFile(at.resolve(inTree))) {
        return at.resolve(inTree);
      }
    }
    throw new IllegalStateException(
        "there is no " + inTree + " above " + Path.of("").toAbsolutePath() + ": run mvn package");
  }

  /** Its address, as members name it. */
  public String url() {
    return "http://127.0.0.1:" + port;
  }

  public JvmProcess process() {
    return process;
  }

  /** Waits until it leads, whether it learns or serves. */
  public void awaitReady() throws InterruptedException {
    await("/health/ready");
  }

  /** Waits until it answers at all. */
  public void awaitLive() throws InterruptedException {
    await("/health/live");
  }

  private void await(String path) throws InterruptedException {
    Await.until("the coordinator answers 200 at " + path, START, () -> answers(path));
  }

  private boolean answers(String path) {
    if (!process.isAlive()) {
      throw new AssertionError("the coordinator has ended:\n" + process.tail());
    }
    try {
      return get(path, null) != null;
    } catch (IOException notYet) {
      return false;
    }
  }

  /** Reads {@code /v1/status}, or says why not. */
  public StatusResponse status() throws IOException {
    byte[] body = get("/v1/status", null);
    if (body == null) {
      throw new IOException("the coordinator did not answer 200 at /v1/status");
    }
    try {
      return Json.read(body, StatusResponse.class);
    } catch (MalformedMessageException e) {
      throw new IOException(e);
    }
  }

  /** Reads {@code /v1/status} and gives its only instance. */
  public StatusResponse.InstanceStatus instance() throws IOException {
    return status().instances().get(0);
  }

  /** The body of an answer 200, or null for another code. */
  private byte @Nullable [] get(String path, @Nullable String token) throws IOException {
    HttpURLConnection connection =
        (HttpURLConnection) URI.create(url() + path).toURL().openConnection();
    connection.setConnectTimeout(1_000);
    connection.setReadTimeout(3_000);
    if (token != null) {
      connection.setRequestProperty("Authorization", "Bearer " + token);
    }
    try {
      if (connection.getResponseCode() != 200) {
        return null;
      }
      try (InputStream in = connection.getInputStream()) {
        return in.readAllBytes();
      }
    } finally {
      connection.disconnect();
    }
  }

  /** Kills it (SIGKILL) and waits until it is gone. */
  public void kill() {
    process.kill();
  }

  /** Asks it to stop (SIGTERM) and waits until it is gone; gives its exit code. */
  public int stop() {
    process.terminate();
    return process.exitCode(Duration.ofSeconds(30));
  }

  /** Starts it again with the same configuration, after it has ended. */
  public void startAgain() {
    if (process.isAlive()) {
      throw new IllegalStateException("the coordinator still runs");
    }
    process = launch();
  }

  @Override
  public void close() {
    process.close();
  }
}
