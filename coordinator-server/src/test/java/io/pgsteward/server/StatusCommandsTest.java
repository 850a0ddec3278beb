package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.StatusResponse;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import io.pgsteward.server.http.CoordinatorHttp;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What show and explain print of a coordinator's status: that of the protocol's samples. */
@Timeout(60)
class StatusCommandsTest {

  private HttpServer server;
  private String url;
  private volatile byte[] body;
  private volatile int status = 200;
  private final AtomicReference<@Nullable String> authorization = new AtomicReference<>();

  @BeforeEach
  void start() throws IOException {
    body = sample();
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/v1/status",
        exchange -> {
          authorization.set(exchange.getRequestHeaders().getFirst("Authorization"));
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    url = "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private static byte[] sample() throws IOException {
    try (InputStream in =
        CoordinatorHttp.class.getResourceAsStream("/io/pgsteward/protocol/v1/status.json")) {
      return in.readAllBytes();
    }
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  @Nested
  class Show {

    @Test
    void tenants_as_an_aligned_table() {
      CommandRun run = CommandRun.of("show", "tenants", "--url", url + "/");

      assertThat(run.code()).as(run.err()).isZero();
      assertThat(run.lines())
          .containsExactly(
              "INSTANCE  TENANT       GUARANTEE  MAX  WEIGHT  DEMAND  GRANTED  HELD  WAITING"
                  + "  UNMET GUARANTEE",
              "main      web@shop            30   60       1      24       24    24        0"
                  + "                0",
              "main      worker@shop         10    -       1      40       40    41        0"
                  + "                0");
    }

    @Test
    void budget_and_members_and_limits() throws Exception {
      assertThat(CommandRun.of("show", "budget", "--url", url).lines().get(1))
          .matches("main +SERVING +100 +64 +1 +110 +3 +4 +3 +0 +0");
      assertThat(CommandRun.of("show", "members", "--url", url).lines().get(1))
          .matches(
              "main +5f0c1d8a9b3e47d2a1c0 +shop-api +10.0.0.21 +GRANTED +830 +web@shop +24 +24 +24"
                  + " +0");
      assertThat(CommandRun.of("show", "limits", "--url", url).lines())
          .as("no limits are enforced")
          .hasSize(1);
      body =
          new String(body, StandardCharsets.UTF_8)
              .replace("\"weight\": 1,", "\"weight\": 1, \"roleLimit\": 45,")
              .getBytes(StandardCharsets.UTF_8);
      assertThat(CommandRun.of("show", "limits", "--url", url).lines().get(1))
          .matches("main +web +45 +24 +24 +30");
    }

    @Test
    void json() {
      CommandRun run = CommandRun.of("show", "tenants", "--json", "--url", url);

      assertThat(run.out())
          .startsWith(
              "[{\"instance\":\"main\",\"tenant\":\"web@shop\",\"guarantee\":30,\"max\":60,");
    }

    @Test
    void names_that_a_terminal_would_obey_are_shown_as_text() {
      body =
          new String(body, StandardCharsets.UTF_8)
              .replace("shop-api", "\\u001b[31mred\\n")
              .getBytes(StandardCharsets.UTF_8);

      assertThat(CommandRun.of("show", "members", "--url", url).out())
          .contains("?[31mred?")
          .doesNotContain("\u001b");
    }

    @Test
    void failures_are_one_sentence() {
      status = 401;
      CommandRun refused = CommandRun.of("show", "budget", "--url", url);
      assertThat(refused.code()).isEqualTo(1);
      assertThat(refused.err()).contains("--token-env").hasLineCount(1);

      status = 200;
      body = "hello".getBytes(StandardCharsets.UTF_8);
      CommandRun other = CommandRun.of("show", "budget", "--url", url);
      assertThat(other.code()).isEqualTo(1);
      assertThat(other.err()).contains("is no coordinator").hasLineCount(1);

      server.stop(0);
      CommandRun away = CommandRun.of("show", "budget", "--url", url);
      assertThat(away.code()).isEqualTo(1);
      assertThat(away.err()).contains("cannot be reached").hasLineCount(1);
    }

    @Test
    void the_token_comes_from_the_environment() {
      CommandRun run = CommandRun.of("show", "budget", "--url", url, "--token-env", "PATH");
      assertThat(run.code()).as(run.err()).isZero();
      assertThat(authorization.get()).isEqualTo("Bearer " + System.getenv("PATH").strip());

      CommandRun unset = CommandRun.of("show", "budget", "--url", url, "--token-env", "NO_SUCH_X");
      assertThat(unset.code()).isEqualTo(2);
      assertThat(unset.err()).contains("NO_SUCH_X is not set");
    }

    @ParameterizedTest
    @CsvSource({"show,nothing", "show,", "explain,", "frobnicate,x"})
    void a_wrong_command_line_ends_with_2(String command, @Nullable String argument) {
      CommandRun run = argument == null ? CommandRun.of(command) : CommandRun.of(command, argument);
      assertThat(run.code()).isEqualTo(2);
    }
  }

  @Nested
  class Explain {

    @Test
    void a_tenant_that_has_what_it_wants() {
      CommandRun run = CommandRun.of("explain", "web@shop", "--url", url);

      assertThat(run.code()).as(run.err()).isZero();
      assertThat(run.lines())
          .containsExactly(
              "main: web@shop has 24 slots and demand for 24",
              "  holds        24, waiting threads 0",
              "  policy       guarantee 30, max 60, weight 1",
              "  role limit   none is kept: enforce is off: the ledger alone protects the budget",
              "  budget       100, granted 64, still held beyond that 1, strays 1",
              "  others       worker@shop 40 (guarantee 10)",
              "  so           it has all that it wants");
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "SERVING | 60 | 60 | 90 | 0 | 70 | 99 | 100 | but has its max",
          "LEARNING | 5 | none | 9 | 0 | 70 | 50 | 100 | heard from every member",
          "STANDBY | 5 | none | 9 | 0 | 70 | 50 | 100 | ask 10.0.0.9:7432",
          "SERVING | 5 | none | 9 | 4 | 70 | 99 | 100 | 4 of them are of its guarantee",
          "SERVING | 5 | none | 9 | 0 | 70 | 99 | 100 | it waits for its turn",
          "SERVING | 5 | none | 9 | 0 | 5 | 90 | 100 | waits for its role's limit to be raised",
          "SERVING | 5 | none | 9 | 0 | 70 | 90 | 100 | it wants 4 more, and 9 slots of the budget"
        })
    void says_what_it_waits_for(
        String phase,
        int granted,
        String max,
        int demand,
        int unmet,
        int limit,
        int all,
        int budget,
        String reason)
        throws Exception {
      StatusResponse sample = Json.read(sample(), StatusResponse.class);
      InstanceStatus one = sample.instances().get(0);
      TenantStatus tenant =
          new TenantStatus(
              "web@shop",
              30,
              max.equals("none") ? null : Integer.valueOf(max),
              1,
              demand,
              granted,
              granted,
              0,
              unmet,
              limit);
      InstanceStatus instance =
          new InstanceStatus(
              one.id(),
              Enum.valueOf(io.pgsteward.protocol.CoordinatorPhase.class, phase),
              1,
              "10.0.0.9:7432",
              new StatusResponse.BudgetStatus(budget, 110, 3, 4, 3, 0, 0),
              all,
              1,
              List.of(),
              one.enforcement(),
              1,
              null,
              List.of(tenant),
              List.of());
      body = Json.write(new StatusResponse(List.of(instance)));

      CommandRun run = CommandRun.of("explain", "web@shop", "--url", url);

      assertThat(run.out()).contains(reason).contains("more connections than that");
    }

    @Test
    void a_role_at_limit_0_refuses_people_too() {
      body =
          new String(body, StandardCharsets.UTF_8)
              .replace("\"weight\": 1,", "\"weight\": 1, \"roleLimit\": 0,")
              .getBytes(StandardCharsets.UTF_8);

      assertThat(CommandRun.of("explain", "web@shop", "--url", url).out())
          .contains("a person's psql too");
    }

    @Test
    void a_tenant_that_is_not_known_ends_with_1_and_a_wrong_name_with_2() {
      CommandRun unknown = CommandRun.of("explain", "nobody@shop", "--url", url);
      assertThat(unknown.code()).isEqualTo(1);
      assertThat(unknown.err()).contains("knows no tenant nobody@shop", "show tenants");
      assertThat(CommandRun.of("explain", "nobody", "--url", url).code()).isEqualTo(2);
    }
  }
}
