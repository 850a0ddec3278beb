package io.pgsteward.server.http;

import io.pgsteward.coordination.ControlLoop;
import io.pgsteward.coordination.ControlLoopListener;
import io.pgsteward.coordination.CoordinatorSettings;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.model.Ticker;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import io.pgsteward.server.config.ListenAddress;
import io.pgsteward.server.config.TokenConfig;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Control loops over sessions in memory behind the real web server, and a client of it. */
final class RunningCoordinator implements AutoCloseable {

  static final Duration LEASE = Duration.ofSeconds(30);
  static final Duration PARK = Duration.ofSeconds(10);
  private static final CallLimits LIMITS = CallLimits.DEFAULT.withCalls(1_000);
  static final String MEMBER = "member-0001";

  private final Map<InstanceId, ControlLoop> loops = new LinkedHashMap<>();
  private final CoordinatorHttp http;
  private final HttpClient client = HttpClient.newHttpClient();

  private RunningCoordinator(
      Map<String, InMemorySession> sessions, TokenConfig tokens, Duration park, CallLimits limits)
      throws IOException, SQLException {
    Map<InstanceId, Readiness> readiness = new LinkedHashMap<>();
    PolicyBook policies =
        PolicyBook.builder().defaultPolicy(TenantPolicy.DEFAULT).ownRole("pgsteward").build();
    for (Map.Entry<String, InMemorySession> entry : sessions.entrySet()) {
      InstanceId id = new InstanceId(entry.getKey());
      Readiness ready = new Readiness();
      readiness.put(id, ready);
      ControlLoop loop =
          new ControlLoop(
              new CoordinatorSettings(
                  id, LEASE, park, Duration.ofMillis(100), 0, policies, false, EnforceMode.OFF),
              entry.getValue(),
              Ticker.system(),
              new Told(ready));
      loop.start();
      loops.put(id, loop);
    }
    http =
        CoordinatorHttp.start(
            new ListenAddress("127.0.0.1", 0), new Instances(loops), readiness, tokens, limits);
  }

  /** Tells readiness what the program's log tells it. */
  private record Told(Readiness ready) implements ControlLoopListener {
    @Override
    public void phaseChanged(CoordinatorPhase phase, long epoch) {
      ready.phase(phase);
    }

    @Override
    public void observationFailed(Exception cause) {
      ready.failed(String.valueOf(cause.getMessage()));
    }
  }

  static RunningCoordinator with(int budget) throws IOException, SQLException {
    return with(budget, TokenConfig.NONE);
  }

  static RunningCoordinator with(int budget, TokenConfig tokens) throws IOException, SQLException {
    return new RunningCoordinator(
        Map.of("main", new InMemorySession(budget)), tokens, PARK, LIMITS);
  }

  static RunningCoordinator with(int budget, Duration park, int mostCalls)
      throws IOException, SQLException {
    return new RunningCoordinator(
        Map.of("main", new InMemorySession(budget)),
        TokenConfig.NONE,
        park,
        LIMITS.withCalls(mostCalls));
  }

  static RunningCoordinator with(int budget, CallLimits limits) throws IOException, SQLException {
    return new RunningCoordinator(
        Map.of("main", new InMemorySession(budget)), TokenConfig.NONE, PARK, limits);
  }

  static RunningCoordinator with(Map<String, InMemorySession> sessions)
      throws IOException, SQLException {
    return new RunningCoordinator(sessions, TokenConfig.NONE, PARK, LIMITS);
  }

  int port() {
    return http.port();
  }

  HttpRequest.Builder to(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + http.port() + path))
        .timeout(Duration.ofSeconds(30));
  }

  HttpResponse<String> get(String path) throws Exception {
    return send(to(path).build());
  }

  HttpResponse<String> post(String path, String body) throws Exception {
    return send(to(path).POST(HttpRequest.BodyPublishers.ofString(body)).build());
  }

  HttpResponse<String> send(HttpRequest request) throws Exception {
    return client.send(request, HttpResponse.BodyHandlers.ofString());
  }

  HttpRequest.Builder syncOf(String member, SyncRequest request) {
    return to("/v1/members/" + member + "/sync")
        .POST(HttpRequest.BodyPublishers.ofByteArray(Json.write(request)));
  }

  HttpResponse<String> sync(SyncRequest request) throws Exception {
    return send(syncOf(MEMBER, request).build());
  }

  CompletableFuture<HttpResponse<String>> syncLater(String member, SyncRequest request) {
    return client.sendAsync(syncOf(member, request).build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Asks until the member is granted what it demands, and goes by it; gives that last answer. */
  SyncResponse settle(String member, String tenant, int demand) throws Exception {
    SyncRequest request = snapshot(1, null, tenant, demand);
    SyncResponse answer = null;
    for (long sequence = 1; sequence < 50; sequence++) {
      answer = read(send(syncOf(member, request).build()));
      request = snapshot(sequence + 1, answer, tenant, demand);
      if (grant(answer, tenant) >= demand) {
        return answer;
      }
    }
    throw new AssertionError("never granted " + demand + ", last answer " + answer);
  }

  static int grant(SyncResponse answer, String tenant) {
    return answer.tenants().stream()
        .filter(t -> t.tenant().equals(tenant))
        .mapToInt(TenantGrant::grant)
        .sum();
  }

  static SyncResponse read(HttpResponse<String> response) throws Exception {
    if (response.statusCode() != 200) {
      throw new AssertionError(response.statusCode() + " " + response.body());
    }
    return Json.read(response.body().getBytes(StandardCharsets.UTF_8), SyncResponse.class);
  }

  /** A member that holds nothing and goes by what the last answer granted. */
  static SyncRequest snapshot(
      long sequence, @Nullable SyncResponse last, String tenant, int demand) {
    int grant = last == null ? 0 : grant(last, tenant);
    return new SyncRequest(
        SyncRequest.VERSION,
        "main",
        "test",
        sequence,
        last == null ? 0 : last.epoch(),
        last == null ? 0 : last.generation(),
        1_000,
        MemberPhase.GRANTED,
        false,
        false,
        List.of(new TenantReport(tenant, grant, demand, 0, 0, 0, 0, 0, List.of())));
  }

  /** The sum of a metric over its labels. */
  double metric(String name) throws Exception {
    return get("/metrics")
        .body()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** As the program stops: the loops first, then the web server. */
  @Override
  public void close() {
    loops.values().forEach(ControlLoop::close);
    http.close();
  }
}
