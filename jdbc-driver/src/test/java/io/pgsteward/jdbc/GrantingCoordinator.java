package io.pgsteward.jdbc;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MalformedMessageException;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A coordinator that grants every tenant the same, over HTTP. Answers a report after a short time,
 * so that members are heard often.
 */
final class GrantingCoordinator implements AutoCloseable {

  private static final int PARK_MILLIS = 100;

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicLong generation = new AtomicLong();
  private final Semaphore never = new Semaphore(0);
  private final Answer answer;
  private volatile boolean tokensRefused;

  /**
   * What every tenant is told.
   *
   * @param grant slots for the member
   * @param tenantGranted slots of all members of the tenant
   * @param granted slots of all tenants
   */
  record Answer(
      int grant,
      int tenantGranted,
      @Nullable Integer max,
      int granted,
      int budget,
      @Nullable String refused) {}

  GrantingCoordinator(Answer answer) throws IOException {
    this.answer = answer;
    this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/v1/members/", this::sync);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  int port() {
    return server.getAddress().getPort();
  }

  /** Refuses every member's token from now on. */
  void refuseTokens() {
    tokensRefused = true;
  }

  private void sync(HttpExchange exchange) throws IOException {
    try (exchange) {
      if (tokensRefused) {
        exchange.sendResponseHeaders(401, -1);
        return;
      }
      SyncRequest request = Json.read(exchange.getRequestBody().readAllBytes(), SyncRequest.class);
      if (request.generation() > 0 && request.tenants().stream().allMatch(this::knows)) {
        never.tryAcquire(PARK_MILLIS, TimeUnit.MILLISECONDS);
      }
      byte[] body = Json.write(response(request));
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    } catch (MalformedMessageException | InterruptedException e) {
      throw new IOException(e);
    }
  }

  private boolean knows(TenantReport report) {
    return report.grant() == answer.grant();
  }

  private SyncResponse response(SyncRequest request) {
    Answer now = answer;
    List<TenantGrant> grants =
        request.tenants().stream()
            .map(
                report ->
                    new TenantGrant(
                        report.tenant(),
                        now.grant(),
                        now.refused(),
                        now.tenantGranted(),
                        now.max()))
            .toList();
    return new SyncResponse(
        SyncRequest.VERSION,
        "main",
        1,
        generation.incrementAndGet(),
        CoordinatorPhase.SERVING,
        15_000,
        5_000,
        now.budget(),
        now.granted(),
        grants);
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
