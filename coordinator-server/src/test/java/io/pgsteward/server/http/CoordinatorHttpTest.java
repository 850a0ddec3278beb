package io.pgsteward.server.http;

import static io.pgsteward.server.http.RunningCoordinator.MEMBER;
import static io.pgsteward.server.http.RunningCoordinator.snapshot;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.server.config.ListenAddress;
import io.pgsteward.server.config.TokenConfig;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(NoThreadsLeft.class)
@Timeout(60)
class CoordinatorHttpTest {

  private static final String SYNC = "/v1/members/" + MEMBER + "/sync";

  private static void assertError(HttpResponse<String> response, int status, String error) {
    assertThat(response.body()).startsWith("{\"error\":\"" + error + "\",\"message\":\"");
    assertThat(response.statusCode()).isEqualTo(status);
    assertThat(response.headers().firstValue("content-type")).hasValue("application/json");
  }

  @Nested
  class A_wrong_request {

    @Test
    void that_is_no_json_is_told_where() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(1)) {
        HttpResponse<String> response = coordinator.post(SYNC, "{\"version\": 1,\n \"name\": ]");

        assertError(response, 400, "bad-request");
        assertThat(response.body()).contains("line 2, column");
      }
    }

    @Test
    void with_a_negative_figure_or_a_strange_tenant_is_refused() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(1)) {
        assertError(coordinator.post(SYNC, "{\"sequence\":-1}"), 400, "bad-request");
        assertError(coordinator.post(SYNC, ""), 400, "bad-request");
        assertError(coordinator.post(SYNC, "null"), 400, "bad-request");
        assertError(
            coordinator.post(SYNC, "{\"sequence\":1,\"tenants\":[{\"tenant\":\"web\"}]}"),
            400,
            "bad-request");
      }
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '`',
        value = {
          "{'tenants':[null]} | tenants[0] is null",
          "{'sequence':1.5} | sequence: must be a whole number",
          "{'tenants':[{'tenant':'a@b','pids':['1']}]} | tenants[0].pids[0]: must be a whole number",
          "{'tenants':[{'tenant':'a@b'},{'tenant':'a@b'}]}"
              + " | tenants[1].tenant: a@b is reported twice",
          "{'tenants':[{'tenant':'a@b'},{'tenant':'%61@b'}]} | tenant a@b is reported twice",
        })
    void hears_which_field_is_wrong(String json, String message) throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(1)) {
        HttpResponse<String> response = coordinator.post(SYNC, json.replace('\'', '"'));

        assertError(response, 400, "bad-request");
        assertThat(response.body()).contains(message).doesNotContain("java.");
      }
    }

    @Test
    void of_a_member_whose_id_has_another_form_is_refused() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(1)) {
        HttpResponse<String> response = coordinator.post("/v1/members/x/sync", "{}");

        assertError(response, 400, "bad-request");
        assertThat(response.body()).contains("8 to 64 characters");
      }
    }

    @Test
    void for_an_unknown_instance_hears_the_known_ones() throws Exception {
      Map<String, InMemorySession> sessions = new LinkedHashMap<>();
      sessions.put("main", new InMemorySession(1));
      sessions.put("other", new InMemorySession(1));
      try (RunningCoordinator coordinator = RunningCoordinator.with(sessions)) {
        HttpResponse<String> unknown = coordinator.post(SYNC, "{\"instance\":\"mian\"}");
        HttpResponse<String> unnamed = coordinator.post(SYNC, "{}");

        assertError(unknown, 404, "unknown-instance");
        assertThat(unknown.body()).contains("no instance mian; it has main, other");
        assertError(unnamed, 404, "unknown-instance");
        assertThat(unnamed.body()).contains("instance must be given; it has main, other");
      }
    }

    @Test
    void that_is_no_http_has_the_same_shape() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(1);
          Socket socket = new Socket(InetAddress.getLoopbackAddress(), coordinator.port())) {
        socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.UTF_8));

        String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(answer)
            .startsWith("HTTP/1.1 400")
            .contains("application/json")
            .contains("{\"error\":\"http-400\",\"message\":\"");
      }
    }

    @Test
    void for_another_path_or_method_has_the_same_shape() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(1)) {
        assertError(coordinator.get("/nothing"), 404, "not-found");
        assertError(coordinator.get(SYNC), 405, "method-not-allowed");
      }
    }
  }

  @Nested
  class Tokens {

    private final TokenConfig tokens = TestTokens.of("member-token", "web@shop", "operator-token");

    @Test
    void let_members_report_their_tenants_alone() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, tokens)) {
        SyncRequest web = snapshot(1, null, "web@shop", 1);
        SyncRequest worker = snapshot(2, null, "worker@shop", 1);

        HttpResponse<String> none = coordinator.send(coordinator.syncOf(MEMBER, web).build());
        assertError(none, 401, "unauthorized");
        assertThat(none.headers().firstValue("www-authenticate"))
            .hasValue("Bearer realm=\"pgsteward\"");
        assertError(with(coordinator, web, "Bearer wrong"), 401, "unauthorized");
        assertError(with(coordinator, web, "Bearer operator-token"), 401, "unauthorized");
        assertError(with(coordinator, web, "Basic member-token"), 401, "unauthorized");
        assertThat(with(coordinator, web, "Bearer member-token").statusCode()).isEqualTo(200);
        assertThat(with(coordinator, web, "bearer member-token").statusCode()).isEqualTo(200);
        HttpResponse<String> foreign = with(coordinator, worker, "Bearer member-token");
        assertError(foreign, 403, "tenant-not-allowed");
        assertThat(foreign.body()).contains("worker@shop").doesNotContain("member-token");
      }
    }

    private HttpResponse<String> with(
        RunningCoordinator coordinator, SyncRequest request, String authorization)
        throws Exception {
      return coordinator.send(
          coordinator.syncOf(MEMBER, request).header("Authorization", authorization).build());
    }

    @Test
    void let_operators_see_status_and_metrics_and_everybody_health() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, tokens)) {
        for (String path : List.of("/v1/status", "/metrics")) {
          assertError(coordinator.get(path), 401, "unauthorized");
          HttpRequest.Builder request = coordinator.to(path);
          assertError(
              coordinator.send(request.header("Authorization", "Bearer member-token").build()),
              401,
              "unauthorized");
          assertThat(
                  coordinator
                      .send(request.setHeader("Authorization", "Bearer operator-token").build())
                      .statusCode())
              .isEqualTo(200);
        }
        assertThat(coordinator.get("/health/live").statusCode()).isEqualTo(200);
        assertThat(coordinator.get("/health/ready").statusCode()).isIn(200, 503);
      }
    }
  }

  @Nested
  class Operators {

    @Test
    void see_the_budget_tenants_and_members() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10)) {
        coordinator.settle(MEMBER, "web@shop", 4);

        String status = coordinator.get("/v1/status").body();

        assertThat(status)
            .contains("\"id\":\"main\"", "\"phase\":\"SERVING\"")
            .contains("\"total\":10", "\"maxConnections\":11")
            .contains("\"tenant\":\"web@shop\"", "\"granted\":4", "\"id\":\"" + MEMBER + "\"");
      }
    }

    @Test
    void scrape_the_same_figures() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10)) {
        coordinator.settle(MEMBER, "web@shop", 4);
        coordinator.post(SYNC, "?");

        HttpResponse<String> metrics = coordinator.get("/metrics");

        assertThat(metrics.headers().firstValue("content-type").orElse(""))
            .startsWith("text/plain");
        assertThat(metrics.body())
            .contains("pgsteward_budget{instance=\"main\"} 10")
            .contains("pgsteward_budget_foreign_peak{instance=\"main\"} 1")
            .contains("pgsteward_granted{instance=\"main\"} 4")
            .contains("pgsteward_members{instance=\"main\"} 1")
            .contains("pgsteward_serving{instance=\"main\"} 1")
            .contains("pgsteward_tenant_demand{instance=\"main\",tenant=\"web@shop\"} 4")
            .contains("pgsteward_tenant_granted{instance=\"main\",tenant=\"web@shop\"} 4")
            .contains("pgsteward_syncs_total{outcome=\"bad-request\"} 1")
            .containsPattern("pgsteward_syncs_total\\{outcome=\"answered\"\\} [1-9]");
      }
    }

    @Test
    void are_told_why_it_is_not_ready_until_it_leads() throws Exception {
      InMemorySession session =
          new InMemorySession(10).fails(new SQLException("Connection refused", "08001"));
      try (RunningCoordinator coordinator = RunningCoordinator.with(Map.of("main", session))) {
        Await.until(
            "the reason is told",
            () -> body(coordinator, "/health/ready").contains("Connection refused"));
        HttpResponse<String> ready = coordinator.get("/health/ready");
        assertThat(ready.statusCode()).isEqualTo(503);
        assertThat(ready.body()).contains("\"ready\":false", "main");
        assertThat(coordinator.get("/health/live").statusCode()).isEqualTo(200);
        assertError(coordinator.sync(snapshot(1, null, "web@shop", 1)), 503, "not-leading");

        session.fails(new SQLException("the database system is starting up", "57P03"));
        Await.until(
            "the new reason is told",
            () -> body(coordinator, "/health/ready").contains("is starting up"));

        session.recovers();

        Await.until(
            "it is ready", () -> body(coordinator, "/health/ready").contains("\"ready\":true"));
        assertThat(coordinator.get("/health/ready").statusCode()).isEqualTo(200);
      }
    }

    private String body(RunningCoordinator coordinator, String path) {
      try {
        return coordinator.get(path).body();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }

  @Test
  void a_stopped_coordinator_lets_nobody_in() throws Exception {
    RunningCoordinator coordinator = RunningCoordinator.with(10);
    HttpRequest request = coordinator.to("/health/live").build();
    assertThat(coordinator.send(request).statusCode()).isEqualTo(200);

    coordinator.close();

    assertThatThrownBy(() -> coordinator.send(request)).isInstanceOf(IOException.class);
  }

  @Test
  void a_port_in_use_is_told_in_one_sentence() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ListenAddress address = new ListenAddress("127.0.0.1", taken.getLocalPort());

      assertThatThrownBy(
              () ->
                  CoordinatorHttp.start(
                      address, new Instances(Map.of()), Map.of(), TokenConfig.NONE))
          .isInstanceOf(IOException.class)
          .hasMessage("cannot listen on " + address + ": Address already in use");
    }
  }
}
