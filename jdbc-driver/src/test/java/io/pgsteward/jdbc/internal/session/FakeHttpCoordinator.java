package io.pgsteward.jdbc.internal.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantReport;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;

/** Small servers on the loopback that stand for a coordinator, and a client of theirs. */
abstract class FakeHttpCoordinator {

  /** What coordinators of version 1 answer; recorded, with a field of a later version. */
  static final String RECORDED =
      """
      {"version":1,"instance":"main","epoch":742,"generation":3,"phase":"SERVING",
       "leaseMillis":15000,"parkMillis":5000,"budget":97,"granted":40,"weather":"fine",
       "tenants":[{"tenant":"web@shop","grant":5,"tenantGranted":30,"tenantMax":80},
                  {"tenant":"x@shop","grant":0,"refused":"no entry","tenantGranted":0}]}
      """;

  static final MemberId MEMBER = new MemberId("0123456789abcdef");
  static final Duration LONG = Duration.ofSeconds(30);

  final List<AutoCloseable> resources = new ArrayList<>();
  final LinkedBlockingQueue<String> bodies = new LinkedBlockingQueue<>();
  final LinkedBlockingQueue<String> heads = new LinkedBlockingQueue<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable resource : resources) {
      resource.close();
    }
  }

  interface Handler {
    void handle(HttpExchange exchange) throws IOException;
  }

  URI server(Handler handler) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    ExecutorService threads = Executors.newCachedThreadPool();
    server.setExecutor(threads);
    server.createContext(
        "/",
        exchange -> {
          bodies.add(new String(exchange.getRequestBody().readAllBytes(), UTF_8));
          heads.add(
              exchange.getRequestMethod()
                  + " "
                  + exchange.getRequestURI()
                  + " "
                  + exchange.getRequestHeaders().getFirst("Authorization"));
          try (exchange) {
            handler.handle(exchange);
          }
        });
    server.start();
    resources.add(() -> server.stop(0));
    resources.add(threads::shutdownNow);
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  static void send(HttpExchange exchange, int code, String body) throws IOException {
    byte[] bytes = body.getBytes(UTF_8);
    exchange.sendResponseHeaders(code, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  HttpCoordinatorClient client(URI... addresses) {
    HttpCoordinatorClient client = new HttpCoordinatorClient(List.of(addresses), "s3cret");
    resources.add(client);
    return client;
  }

  static SyncRequest request() {
    return new SyncRequest(
        1,
        "main",
        "shop-1",
        9,
        742,
        2,
        10_000,
        MemberPhase.GRANTED,
        false,
        false,
        List.of(new TenantReport("web@shop", 4, 6, 2, 150, 0, 4, 0, List.of(11, 12, 13, 14))));
  }

  static CoordinatorCall call(CoordinatorClient client, Duration readTimeout) {
    return client.call(MEMBER, request(), readTimeout, Duration.ofSeconds(2));
  }

  static CoordinatorException failure(CoordinatorClient client) {
    return failure(call(client, LONG));
  }

  static CoordinatorException failure(CoordinatorCall call) {
    CoordinatorException failure = catchThrowableOfType(CoordinatorException.class, call::execute);
    assertThat(failure).isNotNull();
    assertThat(failure.text()).doesNotContain("s3cret");
    return failure;
  }

  static URI nobody() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return URI.create("http://127.0.0.1:" + socket.getLocalPort());
    }
  }

  CompletableFuture<SyncResponse> execute(CoordinatorCall call) {
    CompletableFuture<SyncResponse> answer = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                answer.complete(call.execute());
              } catch (CoordinatorException e) {
                answer.completeExceptionally(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return answer;
  }

  static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
