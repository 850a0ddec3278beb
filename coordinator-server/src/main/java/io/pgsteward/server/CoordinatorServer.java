package io.pgsteward.server;

import io.pgsteward.coordination.ControlLoop;
import io.pgsteward.coordination.CoordinatorSettings;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.ConnectionSource;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.PostgresLeaderSession;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.server.config.InstanceConfig;
import io.pgsteward.server.config.ListenAddress;
import io.pgsteward.server.config.ServerConfig;
import io.pgsteward.server.http.CoordinatorHttp;
import io.pgsteward.server.http.Instances;
import io.pgsteward.server.http.Readiness;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running coordinator: one control loop per instance behind one web server. It tries to lead
 * before it listens, so that nobody is let in by a coordinator that then has to leave. Where
 * another one leads with the same configuration it stands by: it listens, answers 503 with the
 * leader's address, and takes over when the lead is free. Thread-safe.
 */
final class CoordinatorServer implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger("pgsteward");

  private final Map<InstanceId, ControlLoop> loops;
  private final CoordinatorHttp http;

  private CoordinatorServer(Map<InstanceId, ControlLoop> loops, CoordinatorHttp http) {
    this.loops = loops;
    this.http = http;
  }

  /** As {@link #start(ServerConfig, Function)}, with sessions on real PostgreSQL servers. */
  static CoordinatorServer start(ServerConfig config) throws StartException, InterruptedException {
    String address = address(config);
    return start(
        config,
        instance ->
            new PostgresLeaderSession(
                ConnectionSource.of(
                    instance.url(), instance.credentials(), config.lease().dividedBy(3)),
                address,
                instance.agreed(),
                config.lease(),
                Ticker.system(),
                instance.enforcement() != EnforceMode.OFF));
  }

  /** How others are told to reach this coordinator. */
  private static String address(ServerConfig config) {
    ListenAddress listen = config.listen();
    if (config.advertise() != null) {
      return config.advertise().toString();
    }
    if (!listen.isWildcard()) {
      return listen.toString();
    }
    try {
      String name = InetAddress.getLocalHost().getHostName();
      LOG.info("others are told {}:{} as this coordinator's address", name, listen.port());
      return new ListenAddress(name, listen.port()).toString();
    } catch (UnknownHostException e) {
      LOG.warn("this machine does not know its own name; set advertise to an address of it");
      return listen.toString();
    }
  }

  /**
   * Takes the lead on every instance, or stands by, and starts to listen.
   *
   * @param sessions how an instance's session is made
   * @throws StartException if that cannot be; nothing is left running then
   */
  static CoordinatorServer start(
      ServerConfig config, Function<InstanceConfig, LeaderSession> sessions)
      throws StartException, InterruptedException {
    Map<InstanceId, ControlLoop> loops = new LinkedHashMap<>();
    Map<InstanceId, Readiness> readiness = new LinkedHashMap<>();
    for (InstanceConfig instance : config.instances()) {
      Readiness ready = new Readiness();
      readiness.put(instance.id(), ready);
      loops.put(
          instance.id(),
          new ControlLoop(
              settings(config, instance),
              sessions.apply(instance),
              Ticker.system(),
              new InstanceLog(instance.id(), ready, () -> status(loops, instance.id()))));
      LOG.info("{}: PostgreSQL {} as {}", instance.id(), instance.server(), instance.user());
    }
    try {
      lead(loops);
      CoordinatorHttp http =
          CoordinatorHttp.start(config.listen(), new Instances(loops), readiness, config.tokens());
      LOG.info(
          "listening on {}, lease {} ms, calls are kept open for {} ms",
          new ListenAddress(config.listen().host(), http.port()),
          config.lease().toMillis(),
          config.park().toMillis());
      return new CoordinatorServer(loops, http);
    } catch (IOException e) {
      closeAll(loops);
      throw new StartException(ExitCode.FAILED, "listen: " + e.getMessage(), e);
    } catch (StartException | InterruptedException | RuntimeException e) {
      closeAll(loops);
      throw e;
    }
  }

  private static CompletableFuture<InstanceStatus> status(
      Map<InstanceId, ControlLoop> loops, InstanceId instance) {
    return Objects.requireNonNull(loops.get(instance), "the loop that calls").status();
  }

  private static CoordinatorSettings settings(ServerConfig config, InstanceConfig instance) {
    return new CoordinatorSettings(
        instance.id(),
        config.lease(),
        config.park(),
        config.observe(),
        instance.margin(),
        instance.policies(),
        true,
        instance.enforcement());
  }

  /** All at once: one server that answers slowly must not delay the others. */
  private static void lead(Map<InstanceId, ControlLoop> loops)
      throws StartException, InterruptedException {
    ExecutorService starters = Executors.newFixedThreadPool(loops.size());
    try {
      Map<InstanceId, Future<@Nullable SQLException>> starts = new LinkedHashMap<>();
      loops.forEach((id, loop) -> starts.put(id, starters.submit(() -> failureOf(loop))));
      List<String> refused = new ArrayList<>();
      ExitCode code = ExitCode.ANOTHER_LEADS;
      SQLException first = null;
      for (Map.Entry<InstanceId, Future<@Nullable SQLException>> start : starts.entrySet()) {
        SQLException failure = result(start.getValue());
        if (failure != null) {
          refused.add(
              "instances." + start.getKey() + ": " + failure.getMessage() + keysFor(failure));
          first = first == null ? failure : first;
          code = failure instanceof LeadershipHeldException ? code : ExitCode.FAILED;
        }
      }
      if (!refused.isEmpty()) {
        throw new StartException(code, String.join("\n", refused), first);
      }
    } finally {
      starters.shutdownNow();
    }
  }

  /** Which keys of the instance the operator should look at. */
  private static String keysFor(SQLException failure) {
    String state = failure.getSQLState() == null ? "" : failure.getSQLState();
    if (failure instanceof LeadershipHeldException) {
      return "; stop that one first, or give this one the same configuration";
    }
    if (state.startsWith("28")) {
      return "; look at user and password";
    }
    return state.equals("3D000") || state.equals("25006") ? "; look at url" : "";
  }

  private static @Nullable SQLException failureOf(ControlLoop loop) {
    try {
      loop.startOrStandBy();
      return null;
    } catch (SQLException e) {
      return e;
    }
  }

  private static @Nullable SQLException result(Future<@Nullable SQLException> start)
      throws InterruptedException {
    try {
      return start.get();
    } catch (java.util.concurrent.ExecutionException e) {
      throw new IllegalStateException("starting a control loop failed", e.getCause());
    }
  }

  /** The port that it listens on. */
  int port() {
    return http.port();
  }

  /**
   * Stops: new calls are refused, parked ones answered, the leader's locks given back, then the web
   * server ends. Takes a few seconds at most. Idempotent.
   */
  @Override
  public void close() {
    LOG.info("stopping");
    closeAll(loops);
    http.close();
    LOG.info("stopped");
  }

  private static void closeAll(Map<InstanceId, ControlLoop> loops) {
    ExecutorService closers = Executors.newFixedThreadPool(loops.size());
    try {
      loops.values().forEach(loop -> closers.execute(loop::close));
      closers.shutdown();
      if (!closers.awaitTermination(10, TimeUnit.SECONDS)) {
        LOG.warn("some control loops did not stop in time");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      closers.shutdownNow();
    }
  }
}
