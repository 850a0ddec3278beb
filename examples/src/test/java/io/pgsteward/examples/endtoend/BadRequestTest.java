package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Applications that ask a coordinator for what it does not give. */
@Tag("postgres")
@ExtendWith(NoThreadsLeft.class)
class BadRequestTest {

  private static final String TOKEN = "token-of-the-shop";

  private static PostgresServer postgres;
  private static TestRole web;
  private static String database;
  private static CoordinatorProcess coordinator;

  @BeforeAll
  static void start() throws Exception {
    postgres = TestPostgres.shared();
    web = postgres.createRole("web");
    database = postgres.createDatabase("shop");
    coordinator =
        CoordinatorSetup.of(postgres)
            .tenant(web.name() + "@" + database, "{ guarantee: 1 }")
            .more("tokens:\n  members: [ { token: " + TOKEN + ", tenants: [\"*@*\"] } ]\n")
            .start();
    coordinator.awaitLive();
  }

  @AfterAll
  static void stop() {
    coordinator.close();
  }

  @Test
  void the_right_tenant_with_the_right_token_is_served() throws SQLException {
    try (PgStewardDataSource dataSource = new PgStewardDataSource(config(web, TOKEN).build());
        Connection connection = dataSource.getConnection()) {
      assertThat(connection.isValid(5)).isTrue();
    }
  }

  /** While the coordinator learns, such a tenant has its fallbackSlots like any other. */
  @Test
  void a_tenant_that_no_policy_names_is_told_so_once_the_coordinator_serves() throws Exception {
    TestRole stranger = postgres.createRole("stranger");
    Await.until("it is refused", () -> isRefused(config(stranger, TOKEN)));
    SQLException error = failure(config(stranger, TOKEN));
    assertThat(error.getMessage()).contains(stranger.name() + "@" + database);
    assertThat(error.getMessage()).containsIgnoringCase("polic");
  }

  @Test
  void a_wrong_token_is_told_without_showing_it() {
    SQLException error = failure(config(web, "wrong-token").fallbackSlots(0));
    assertThat(error.getMessage()).containsIgnoringCase("token").doesNotContain("wrong-token");
  }

  @Test
  void a_wrong_password_fails_fast_and_names_the_role() {
    SQLException error = failure(config(new TestRole(web.name(), "wrong-secret"), TOKEN));
    assertThat(error.getSQLState()).startsWith("28");
    assertThat(error.getMessage()).contains(web.name()).doesNotContain("wrong-secret");
  }

  @Test
  void a_body_of_10_mb_is_refused_and_hurts_nobody() throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(coordinator.url() + "/v1/members/0123456789abcdef/sync"))
            .header("Authorization", "Bearer " + TOKEN)
            .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[10 * 1024 * 1024]))
            .build();
    HttpResponse<String> answer =
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(413);
    the_right_tenant_with_the_right_token_is_served();
  }

  private static PgStewardConfig.Builder config(TestRole role, String token) {
    return PgStewardConfig.builder()
        .jdbcUrl("jdbc:pgsteward://127.0.0.1:" + postgres.port() + "/" + database)
        .username(role.name())
        .password(role.password())
        .coordinator(coordinator.url())
        .coordinatorToken(token)
        .connectionTimeout(Duration.ofSeconds(5));
  }

  private static boolean isRefused(PgStewardConfig.Builder config) {
    try (PgStewardDataSource dataSource = new PgStewardDataSource(config.build());
        Connection connection = dataSource.getConnection()) {
      return connection.isClosed();
    } catch (SQLException refused) {
      return true;
    }
  }

  private static SQLException failure(PgStewardConfig.Builder config) {
    try (PgStewardDataSource dataSource = new PgStewardDataSource(config.build())) {
      return catchThrowableOfType(SQLException.class, dataSource::getConnection);
    }
  }
}
