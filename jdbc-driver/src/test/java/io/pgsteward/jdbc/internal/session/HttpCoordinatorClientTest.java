package io.pgsteward.jdbc.internal.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class HttpCoordinatorClientTest extends FakeHttpCoordinator {

  @Test
  void a_recorded_answer_of_version_1_is_understood() throws Exception {
    SyncResponse answer = call(client(server(x -> send(x, 200, RECORDED))), LONG).execute();

    assertThat(answer.epoch()).isEqualTo(742);
    assertThat(answer.phase()).isEqualTo(CoordinatorPhase.SERVING);
    assertThat(answer.tenants()).hasSize(2);
    assertThat(answer.tenants().get(0).tenantMax()).isEqualTo(80);
    assertThat(answer.tenants().get(1).refused()).isEqualTo("no entry");
  }

  @Test
  void the_report_travels_whole_to_the_members_own_path_with_the_token() throws Exception {
    call(client(server(x -> send(x, 200, RECORDED))), LONG).execute();

    assertThat(heads.take()).isEqualTo("POST /v1/members/0123456789abcdef/sync Bearer s3cret");
    String body = bodies.take();
    assertThat(Json.read(body.getBytes(UTF_8), SyncRequest.class)).isEqualTo(request());
    assertThat(body)
        .isEqualTo(
            "{\"version\":1,\"instance\":\"main\",\"name\":\"shop-1\",\"sequence\":9,"
                + "\"epoch\":742,\"generation\":2,\"connectTimeoutMillis\":10000,"
                + "\"phase\":\"GRANTED\",\"leaving\":false,\"renews\":false,\"tenants\":[{\"tenant\":\"web@shop\","
                + "\"grant\":4,\"demand\":6,\"waiting\":2,\"longestWaitMillis\":150,\"opening\":0,"
                + "\"open\":4,\"closing\":0,\"pids\":[11,12,13,14]}]}");
  }

  @Test
  void a_path_before_the_coordinator_is_kept() throws Exception {
    URI server = server(x -> send(x, 200, RECORDED));
    call(client(URI.create(server + "/steward/")), LONG).execute();
    assertThat(heads.take()).startsWith("POST /steward/v1/members/0123456789abcdef/sync ");
  }

  @Test
  void a_parked_answer_comes_when_it_comes() throws Exception {
    CountDownLatch news = new CountDownLatch(1);
    CoordinatorClient client =
        client(
            server(
                x -> {
                  await(news);
                  send(x, 200, RECORDED);
                }));
    CompletableFuture<SyncResponse> answer = execute(call(client, LONG));
    heads.take();
    assertThat(answer).isNotDone();

    news.countDown();

    assertThat(answer.get(30, TimeUnit.SECONDS).generation()).isEqualTo(3);
  }

  @Test
  void a_closed_client_sends_nothing() throws Exception {
    CoordinatorClient client = client(server(x -> send(x, 200, RECORDED)));
    client.close();
    assertThat(failure(client).kind()).isEqualTo(Kind.CANCELLED);
    assertThat(heads).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "200 | ''                                  | UNUSABLE",
        "200 | <html>It works</html>               | UNUSABLE",
        "200 | {\"epoch\":0}                       | UNUSABLE",
        "200 | null                                | UNUSABLE",
        "200 | [1,2]                               | UNUSABLE",
        "204 | ''                                  | UNUSABLE",
        "302 | ''                                  | UNUSABLE",
        "400 | {\"error\":\"x\",\"message\":\"no such instance: man\"} | REJECTED",
        "401 | {\"error\":\"x\",\"message\":\"token not known\"}       | UNAUTHORIZED",
        "403 | ''                                  | UNAUTHORIZED",
        "404 | not found                           | REJECTED",
        "410 | {\"error\":\"left\",\"message\":\"has left\"}           | REJECTED",
        "413 | too large                           | REJECTED",
        "429 | {\"error\":\"too-many\",\"message\":\"1000 members\"}   | UNUSABLE",
        "500 | oops                                | UNUSABLE",
        "503 | {\"error\":\"closing\",\"message\":\"is stopping\"}     | NOT_LEADING",
      })
  void what_is_no_answer_is_a_failure_of_its_kind(int code, String body, Kind kind)
      throws Exception {
    URI address = server(x -> send(x, code, body));
    CoordinatorException failure = failure(client(address));
    assertThat(failure.kind()).isEqualTo(kind);
    assertThat(failure.text()).contains(address.toString());
    assertThat(failure.nextAtOnce()).as("there is no other address").isFalse();
  }

  @Test
  void the_coordinators_own_words_are_in_the_failure() throws Exception {
    CoordinatorException failure =
        failure(client(server(x -> send(x, 400, "{\"message\":\"no such instance: man\"}"))));
    assertThat(failure.text()).contains("400").contains("no such instance: man");
  }

  @Test
  void a_wrong_token_says_what_to_set() throws Exception {
    assertThat(failure(client(server(x -> send(x, 401, "")))).text()).contains("coordinatorToken");
    String said = "{\"message\":\"the bearer token is not for tenant web@shop\"}";
    assertThat(failure(client(server(x -> send(x, 403, said)))).text())
        .endsWith("answered 403: the bearer token is not for tenant web@shop");
  }

  @Test
  void a_redirect_is_not_followed_and_the_token_goes_nowhere_else() throws Exception {
    URI target = server(x -> send(x, 200, RECORDED));
    URI redirects =
        server(
            x -> {
              x.getResponseHeaders().set("Location", target + "/v1/members/x/sync");
              send(x, 307, "");
            });
    assertThat(failure(client(redirects)).kind()).isEqualTo(Kind.UNUSABLE);
    assertThat(heads).hasSize(1);
  }

  @Test
  void an_answer_of_10_MB_is_not_read_to_its_end() throws Exception {
    CompletableFuture<Long> written = new CompletableFuture<>();
    URI address =
        server(
            x -> {
              x.sendResponseHeaders(200, 0); // chunked: no length to go by
              long bytes = 0;
              byte[] chunk = new byte[64 * 1024];
              try (OutputStream out = x.getResponseBody()) {
                for (int i = 0; i < 1024; i++, bytes += chunk.length) {
                  out.write(chunk);
                }
              } finally {
                written.complete(bytes);
              }
            });
    CoordinatorException failure = failure(client(address));
    assertThat(failure.kind()).isEqualTo(Kind.UNUSABLE);
    assertThat(failure.text()).contains("more than");
    assertThat(written.get(30, TimeUnit.SECONDS)).isLessThan(64L * 1024 * 1024);
  }

  @Test
  void an_announced_length_that_is_too_large_is_refused_unread() throws Exception {
    URI address =
        server(
            x -> {
              x.sendResponseHeaders(200, 10L * 1024 * 1024);
              x.getResponseBody().write(' ');
              x.getResponseBody().flush();
              awaitClosed(x);
            });
    assertThat(failure(client(address)).kind()).isEqualTo(Kind.UNUSABLE);
  }

  private static void awaitClosed(HttpExchange exchange) {
    try {
      while (true) {
        exchange.getResponseBody().write(new byte[1024]);
      }
    } catch (IOException e) {
      // the client has gone, as it should
    }
  }

  @Test
  void a_server_that_never_answers_is_given_up_after_the_read_timeout() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    resources.add(end::countDown);
    CoordinatorClient client = client(server(x -> await(end)));
    assertThat(failure(call(client, Duration.ofMillis(200))).kind()).isEqualTo(Kind.UNREACHABLE);
  }

  @Test
  void a_server_that_drips_is_given_up_too() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    resources.add(end::countDown);
    URI address =
        server(
            x -> {
              x.sendResponseHeaders(200, 1000);
              for (int i = 0; i < 1000 && !tick(end); i++) {
                x.getResponseBody().write(' ');
                x.getResponseBody().flush();
              }
            });
    CoordinatorCall call =
        client(address).call(MEMBER, request(), Duration.ofMillis(300), Duration.ofMillis(300));
    assertThat(failure(call).kind()).isEqualTo(Kind.UNREACHABLE);
  }

  private static boolean tick(CountDownLatch end) {
    try {
      return end.await(50, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      return true;
    }
  }

  @Test
  void a_reset_connection_is_a_failure_and_is_not_repeated_silently() throws Exception {
    try (ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      LinkedBlockingQueue<Integer> connections = new LinkedBlockingQueue<>();
      Thread resets =
          new Thread(
              () -> {
                try {
                  while (true) {
                    Socket socket = listener.accept();
                    connections.add(socket.getPort());
                    socket.getInputStream().read();
                    socket.setSoLinger(true, 0);
                    socket.close();
                  }
                } catch (IOException e) {
                  // the listener was closed: the test is over
                }
              });
      resets.start();
      URI address = URI.create("http://127.0.0.1:" + listener.getLocalPort());
      assertThat(failure(client(address)).kind()).isEqualTo(Kind.UNREACHABLE);
      assertThat(connections).hasSize(1);
      listener.close();
      resets.join();
    }
  }

  @Test
  void nobody_at_the_address_is_a_failure() throws Exception {
    assertThat(failure(client(nobody())).kind()).isEqualTo(Kind.UNREACHABLE);
  }

  @Test
  void the_second_address_is_tried_at_once_and_kept() throws Exception {
    URI works = server(x -> send(x, 200, RECORDED));
    HttpCoordinatorClient client = client(nobody(), works);

    assertThat(failure(client).nextAtOnce()).isTrue();
    assertThat(call(client, LONG).execute().epoch()).isEqualTo(742);
    assertThat(client.address()).isEqualTo(works.toString());
    assertThat(call(client, LONG).execute().epoch()).isEqualTo(742);
  }

  @Test
  void after_all_addresses_have_failed_there_is_a_pause() throws Exception {
    HttpCoordinatorClient client = client(nobody(), nobody());
    assertThat(failure(client).nextAtOnce()).isTrue();
    assertThat(failure(client).nextAtOnce()).isFalse();
    assertThat(failure(client).nextAtOnce()).isTrue();
  }

  @Test
  void a_coordinator_that_does_not_lead_names_the_one_to_ask_next() throws Exception {
    URI leader = server(x -> send(x, 200, RECORDED));
    String named = "127.0.0.1:" + leader.getPort();
    URI follower =
        server(x -> send(x, 503, "{\"error\":\"not-leading\",\"leader\":\"" + named + "\"}"));
    HttpCoordinatorClient client = client(follower);

    CoordinatorException failure = failure(client);
    assertThat(failure.kind()).isEqualTo(Kind.NOT_LEADING);
    assertThat(failure.nextAtOnce()).isTrue();
    assertThat(call(client, LONG).execute().epoch()).isEqualTo(742);
  }

  @Test
  void a_named_leader_that_is_gone_leads_back_to_the_list() throws Exception {
    String named = nobody().toString();
    URI follower =
        server(x -> send(x, 503, "{\"error\":\"not-leading\",\"leader\":\"" + named + "\"}"));
    HttpCoordinatorClient client = client(follower);

    assertThat(failure(client).nextAtOnce()).isTrue();
    assertThat(failure(client).kind()).isEqualTo(Kind.UNREACHABLE);
    assertThat(client.address()).isEqualTo(follower.toString());
  }

  @Test
  void a_leader_named_with_nonsense_is_passed_over() throws Exception {
    URI follower = server(x -> send(x, 503, "{\"error\":\"x\",\"leader\":\"ftp://%%%\"}"));
    assertThat(failure(client(follower)).nextAtOnce()).isFalse();
  }

  @Test
  void an_answer_of_no_use_moves_on_and_ends_in_a_pause() throws Exception {
    HttpCoordinatorClient client =
        client(server(x -> send(x, 200, RECORDED)), server(x -> send(x, 200, RECORDED)));
    call(client, LONG).execute();
    assertThat(client.askAnother()).isTrue();
    call(client, LONG).execute();
    assertThat(client.askAnother()).isFalse();
  }
}
