package io.pgsteward.server.http;

import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.HttpResponseException;
import io.javalin.util.JavalinException;
import io.pgsteward.model.InstanceId;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.StatusResponse;
import io.pgsteward.server.config.ListenAddress;
import io.pgsteward.server.config.TokenConfig;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The web server with the coordinator's endpoints. Small on purpose: 4 to 16 threads serve
 * thousands of parked calls, since those hold none. Thread-safe.
 */
public final class CoordinatorHttp implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger("pgsteward");

  private static final int MOST_THREADS = 16;
  private static final int LEAST_THREADS = 4;
  private static final long STOP_MILLIS = 2_000;

  /** How long a connection between two requests may delay a stop. */
  private static final long IDLE_AT_STOP_MILLIS = 100;

  /** After these the rest of a body is not worth reading. */
  private static final Set<Integer> CLOSING = Set.of(408, 413, 429);

  private static final String JSON = "application/json";

  private final Javalin javalin;

  private CoordinatorHttp(Javalin javalin) {
    this.javalin = javalin;
  }

  /**
   * Starts to listen.
   *
   * @param readiness of each instance
   * @throws IOException if the address cannot be listened on; the message says which and why
   */
  public static CoordinatorHttp start(
      ListenAddress listen,
      Instances instances,
      Map<InstanceId, Readiness> readiness,
      TokenConfig tokens)
      throws IOException {
    return start(listen, instances, readiness, tokens, CallLimits.DEFAULT);
  }

  static CoordinatorHttp start(
      ListenAddress listen,
      Instances instances,
      Map<InstanceId, Readiness> readiness,
      TokenConfig tokens,
      CallLimits limits)
      throws IOException {
    QueuedThreadPool threads = new QueuedThreadPool(MOST_THREADS, LEAST_THREADS);
    threads.setName("pgsteward-http");
    threads.setDaemon(true);
    Access access = new Access(tokens);
    Metrics metrics = new Metrics();
    SyncEndpoint sync = new SyncEndpoint(instances, access, metrics, threads, limits);
    metrics.calls(sync::calls);
    Javalin javalin =
        Javalin.create(
            config -> {
              server(config, listen, threads);
              config.routes.post("/v1/members/{id}/sync", sync::handle);
              operators(config, "/v1/status", access, threads, instances, JSON, Json::write);
              operators(
                  config,
                  "/metrics",
                  access,
                  threads,
                  instances,
                  "text/plain; version=0.0.4; charset=utf-8",
                  status -> metrics.render(status).getBytes(StandardCharsets.UTF_8));
              config.routes.get(
                  "/health/live", context -> json(context, 200, Map.of("live", true)));
              config.routes.get("/health/ready", context -> ready(context, readiness));
              errors(config, metrics);
            });
    try {
      javalin.start();
      return new CoordinatorHttp(javalin);
    } catch (JavalinException e) {
      throw new IOException("cannot listen on " + listen + ": " + rootMessage(e), e);
    }
  }

  /** The port that it listens on. */
  public int port() {
    return javalin.port();
  }

  /**
   * Stops to listen, lets answers that are being written end, and ends the threads. Whoever parks
   * calls must have ended them before. Idempotent.
   */
  @Override
  public void close() {
    javalin.stop();
  }

  private static void server(JavalinConfig config, ListenAddress listen, QueuedThreadPool threads) {
    config.startup.showJavalinBanner = false;
    config.startup.showOldJavalinVersionWarning = false;
    config.startup.startupWatcherEnabled = false;
    config.http.compressionStrategy = CompressionStrategy.NONE;
    config.http.prefer405over404 = true;
    config.jetty.threadPool = threads;
    config.jetty.modifyServer(
        server -> {
          server.insertHandler(new GracefulHandler());
          server.setStopTimeout(STOP_MILLIS);
          server.setErrorHandler(new PlainErrors());
        });
    config.jetty.addConnector((server, http) -> connector(server, http, listen));
  }

  /** One acceptor and one selector, however many processors there are: both come out of 16. */
  private static ServerConnector connector(
      Server server, HttpConfiguration http, ListenAddress listen) {
    ServerConnector connector = new ServerConnector(server, 1, 1, new HttpConnectionFactory(http));
    connector.setHost(listen.host());
    connector.setPort(listen.port());
    connector.setShutdownIdleTimeout(IDLE_AT_STOP_MILLIS);
    return connector;
  }

  private static void operators(
      JavalinConfig config,
      String path,
      Access access,
      QueuedThreadPool writers,
      Instances instances,
      String contentType,
      Function<StatusResponse, byte[]> render) {
    config.routes.get(
        path,
        context -> {
          access.operator(context.header("Authorization"));
          context.future(
              () ->
                  instances
                      .status()
                      .thenAcceptAsync(
                          status -> context.contentType(contentType).result(render.apply(status)),
                          writers));
        });
  }

  private static void ready(Context context, Map<InstanceId, Readiness> readiness) {
    Map<String, String> instances = new LinkedHashMap<>();
    boolean ready = true;
    for (Map.Entry<InstanceId, Readiness> entry : readiness.entrySet()) {
      String reason = entry.getValue().reason();
      instances.put(entry.getKey().value(), reason == null ? "ready" : reason);
      ready &= reason == null;
    }
    json(context, ready ? 200 : 503, Map.of("ready", ready, "instances", instances));
  }

  private static void errors(JavalinConfig config, Metrics metrics) {
    config.routes.exception(
        Exception.class, (failure, context) -> refuse(context, failure, metrics));
    config.routes.exception(
        HttpResponseException.class,
        (failure, context) ->
            refuse(
                context,
                new Refusal(
                    failure.getStatus(), code(failure), String.valueOf(failure.getMessage())),
                metrics));
  }

  private static void refuse(Context context, Exception failure, Metrics metrics) {
    Refusal refusal = Refusal.of(failure);
    if (refusal.status() == 500) {
      LOG.error("{} {} failed", context.method(), context.path(), failure);
    }
    if (refusal.status() == 401) {
      context.header("WWW-Authenticate", "Bearer realm=\"pgsteward\"");
    }
    if (CLOSING.contains(refusal.status())) {
      context.header("Connection", "close");
    }
    if (context.path().endsWith("/sync")) {
      metrics.refused(refusal.body().error());
    }
    json(context, refusal.status(), refusal.body());
  }

  private static String code(HttpResponseException failure) {
    return switch (failure.getStatus()) {
      case 404 -> "not-found";
      case 405 -> "method-not-allowed";
      default -> "http-" + failure.getStatus();
    };
  }

  private static void json(Context context, int status, Object body) {
    context.status(status).contentType(JSON).result(Json.write(body));
  }

  private static String rootMessage(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return String.valueOf(cause.getMessage());
  }
}
