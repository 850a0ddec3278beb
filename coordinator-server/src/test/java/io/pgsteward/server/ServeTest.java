package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.protocol.ErrorResponse;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantReport;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.JvmProcess;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The program as its own process: what it prints, and what its exit code says. */
@Timeout(120)
class ServeTest {

  private static final Duration LIMIT = Duration.ofSeconds(40);

  @TempDir Path directory;

  private JvmProcess run(String... arguments) {
    return JvmProcess.start("coordinator", Main.class, List.of(arguments), line -> {});
  }

  private JvmProcess serve(String config) throws IOException {
    Path file = Files.createTempFile(directory, "pgsteward", ".yml");
    Files.writeString(file, config);
    return run("serve", "--config", file.toString());
  }

  private static String config(String url, String user, String password, int port) {
    return """
        listen: 127.0.0.1:%d
        lease: 900ms
        instances:
          main:
            url: %s
            user: %s
            password: "%s"
            default: {}
        """
        .formatted(port, url, user, password);
  }

  @Nested
  class A_wrong_start {

    @Test
    void with_a_wrong_file_ends_with_2_and_says_all_that_is_wrong() throws Exception {
      try (JvmProcess process = serve("lease: 15\ninstances:\n  main: { margin: x }\n")) {
        assertThat(process.exitCode(LIMIT)).isEqualTo(2);
        assertThat(process.output())
            .anySatisfy(line -> assertThat(line).contains(".yml:1: lease: must be a duration"))
            .anySatisfy(line -> assertThat(line).contains(".yml:3: instances.main.margin: "))
            .anySatisfy(line -> assertThat(line).contains(".yml:3: instances.main.url: is missing"))
            .noneSatisfy(line -> assertThat(line).contains("Exception"));
      }
    }

    @Test
    void without_a_file_or_with_a_directory_ends_with_2() {
      try (JvmProcess none = run("serve", "--config", directory.resolve("none.yml").toString());
          JvmProcess dir = run("serve", "--config", directory.toString())) {
        assertThat(none.exitCode(LIMIT)).isEqualTo(2);
        assertThat(none.output()).singleElement().asString().contains("there is no such file");
        assertThat(dir.exitCode(LIMIT)).isEqualTo(2);
        assertThat(dir.output()).singleElement().asString().contains("is a directory");
      }
    }

    @Test
    void on_a_port_in_use_ends_with_1_and_one_sentence() throws Exception {
      try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
          JvmProcess process =
              serve(
                  config(
                      "jdbc:postgresql://127.0.0.1:1/postgres", "x", "y", taken.getLocalPort()))) {
        assertThat(process.exitCode(LIMIT)).isEqualTo(1);
        assertThat(process.output())
            .anySatisfy(
                line ->
                    assertThat(line)
                        .contains("ERROR ", ".yml: listen: cannot listen on 127.0.0.1:")
                        .endsWith(taken.getLocalPort() + ": Address already in use"))
            .noneSatisfy(line -> assertThat(line).contains("Exception"));
      }
    }
  }

  @Nested
  @Tag("postgres")
  class With_PostgreSQL {

    private TestRole role(PostgresServer server) throws SQLException {
      return server.createRoleNamed(server.newName("pgsteward"), "IN ROLE pg_monitor");
    }

    @Test
    void a_wrong_password_ends_with_1_and_is_not_quoted() throws Exception {
      PostgresServer server = TestPostgres.shared();
      TestRole role = role(server);
      try (JvmProcess process =
          serve(config(server.url("postgres"), role.name(), "wr0ng-secret", 0))) {
        assertThat(process.exitCode(LIMIT)).isEqualTo(1);
        assertThat(process.tail())
            .contains(
                "ERROR ",
                ".yml: instances.main: ",
                "password authentication failed for user \"" + role.name() + "\"",
                "look at user and password")
            .doesNotContain("wr0ng-secret", "Exception", "enforce is");
      }
    }

    @Test
    void it_serves_until_it_is_told_to_stop_and_another_stands_by_meanwhile() throws Exception {
      PostgresServer server = TestPostgres.shared();
      TestRole role = role(server);
      int port = CoordinatorProcess.freePort();
      String config = config(server.url("postgres"), role.name(), role.password(), port);
      try (JvmProcess first = serve(config)) {
        awaitAnswer(first, port, "/health/ready", 200);
        assertThat(granted(port)).as("slots granted to a member").isEqualTo(2);

        int other = CoordinatorProcess.freePort();
        try (JvmProcess second = serve(config.replace(":" + port, ":" + other))) {
          String reason = awaitAnswer(second, other, "/health/ready", 503);
          assertThat(reason)
              .contains("coordinator 127.0.0.1:" + port + " leads, this one stands by");
          HttpResponse<byte[]> refused = sync(other, joining(null, 1, 0));
          assertThat(refused.statusCode()).isEqualTo(503);
          assertThat(Json.read(refused.body(), ErrorResponse.class).leader())
              .isEqualTo("127.0.0.1:" + port);
          assertThat(text(other, "/v1/status"))
              .contains("\"phase\":\"STANDBY\"", "\"leader\":\"127.0.0.1:" + port + "\"");
          assertThat(text(other, "/metrics"))
              .contains("pgsteward_standby{instance=\"main\",leader=\"127.0.0.1:" + port + "\"} 1");

          first.terminate();
          assertThat(first.exitCode(LIMIT)).isZero();
          assertThat(first.output())
              .noneSatisfy(line -> assertThat(line).contains(role.password()));
          awaitAnswer(second, other, "/health/ready", 200);
          assertThat(granted(other)).as("slots granted by the one that stood by").isEqualTo(2);
        }
      }
      try (JvmProcess next = serve(config)) {
        awaitAnswer(next, port, "/health/ready", 200);
      }
    }

    @Test
    void a_second_one_with_another_configuration_ends_with_3_and_says_why() throws Exception {
      PostgresServer server = TestPostgres.shared();
      TestRole role = role(server);
      int port = CoordinatorProcess.freePort();
      int other = CoordinatorProcess.freePort();
      String config = config(server.url("postgres"), role.name(), role.password(), port);
      try (JvmProcess first = serve(config)) {
        awaitAnswer(first, port, "/health/ready", 200);
        String wider = config.replace(":" + port, ":" + other) + "    margin: 4\n";
        try (JvmProcess second = serve(wider)) {
          assertThat(second.exitCode(LIMIT)).isEqualTo(3);
          assertThat(second.tail())
              .contains("main: ", "another configuration", "at 127.0.0.1:" + port)
              .contains("here at 127.0.0.1:" + other, "margin and enforce")
              .doesNotContain("Exception");
        }
      }
    }

    @Test
    void that_is_not_there_yet_is_waited_for() throws Exception {
      int postgresPort = CoordinatorProcess.freePort();
      int port = CoordinatorProcess.freePort();
      String url = "jdbc:postgresql://127.0.0.1:" + postgresPort + "/postgres";
      try (JvmProcess process = serve(config(url, "late", "late", port))) {
        String reason = awaitAnswer(process, port, "/health/ready", 503);
        assertThat(reason).contains("\"main\":\"does not lead: ", "refused");

        try (PostgresServer server =
            TestPostgres.with("max_connections", "20").port(postgresPort).start()) {
          server.execute("create role late login password 'late'");

          awaitAnswer(process, port, "/health/ready", 200);
          assertThat(process.output())
              .filteredOn(line -> line.contains("cannot be looked at"))
              .as("one line for each reason, not one for each try")
              .hasSizeLessThanOrEqualTo(4);
          Await.until(
              "the missing right is named",
              LIMIT,
              () -> process.tail().contains("main: the coordinator's role is not in pg_monitor"));
        }
      }
    }

    private int granted(int port) throws Exception {
      long sequence = 0;
      SyncResponse last = null;
      long end = System.nanoTime() + LIMIT.toNanos();
      while (System.nanoTime() - end < 0) {
        int grant = last == null || last.tenants().isEmpty() ? 0 : last.tenants().get(0).grant();
        if (grant == 2) {
          return grant;
        }
        last = Json.read(sync(port, joining(last, ++sequence, grant)).body(), SyncResponse.class);
      }
      throw new AssertionError("never granted, last answer " + last);
    }

    private SyncRequest joining(@Nullable SyncResponse last, long sequence, int grant) {
      return new SyncRequest(
          SyncRequest.VERSION,
          null,
          "test",
          sequence,
          last == null ? 0 : last.epoch(),
          last == null ? 0 : last.generation(),
          1_000,
          MemberPhase.JOINING,
          false,
          false,
          List.of(new TenantReport("web@shop", grant, 2, 0, 0, 0, 0, 0, List.of())));
    }

    private HttpResponse<byte[]> sync(int port, SyncRequest request) throws Exception {
      return HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(uri(port, "/v1/members/member-0001/sync"))
                  .POST(HttpRequest.BodyPublishers.ofByteArray(Json.write(request)))
                  .build(),
              HttpResponse.BodyHandlers.ofByteArray());
    }

    private String awaitAnswer(JvmProcess process, int port, String path, int status)
        throws InterruptedException {
      String[] body = {""};
      Await.until(
          "the coordinator answers " + status + " at " + path,
          LIMIT,
          () -> {
            assertThat(process.isAlive()).as(process.tail()).isTrue();
            HttpResponse<String> response = get(port, path);
            body[0] = response == null ? "" : response.body();
            return response != null && response.statusCode() == status;
          });
      return body[0];
    }

    private String text(int port, String path) {
      HttpResponse<String> response = get(port, path);
      return response == null ? "" : response.body();
    }

    private @Nullable HttpResponse<String> get(int port, String path) {
      try {
        return HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(uri(port, path)).timeout(Duration.ofSeconds(5)).build(),
                HttpResponse.BodyHandlers.ofString());
      } catch (IOException notYet) {
        return null;
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    private URI uri(int port, String path) {
      return URI.create("http://127.0.0.1:" + port + path);
    }
  }
}
