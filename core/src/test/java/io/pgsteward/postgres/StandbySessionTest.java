package io.pgsteward.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.model.Ticker;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The session of a coordinator that waits for another one's lock. */
@Tag("postgres")
@Timeout(120)
class StandbySessionTest {

  private static PostgresServer postgres;
  private static TestRole coordinator;

  private final List<PostgresLeaderSession> opened = new ArrayList<>();

  @BeforeAll
  static void start() throws SQLException {
    postgres = TestPostgres.shared();
    coordinator = postgres.createRoleNamed(postgres.newName("coordinator"), "IN ROLE pg_monitor");
  }

  @BeforeEach
  void nobody_leads() throws Exception {
    awaitFree();
  }

  @AfterEach
  void close_what_was_opened() {
    opened.forEach(PostgresLeaderSession::close);
  }

  @Test
  void the_lock_is_awaited_on_one_connection_and_taken_when_it_is_free() throws Exception {
    PostgresLeaderSession first = session("10.0.0.1:7432", "aaaa");
    long epoch = first.lead();
    PostgresLeaderSession second = session("10.0.0.2:7432", "aaaa");
    for (int tries = 0; tries < 3; tries++) {
      assertThatThrownBy(second::lead)
          .isInstanceOfSatisfying(
              LeadershipHeldException.class, e -> assertThat(e.hasSameConfiguration()).isTrue());
      assertThat(sessionsOf("10.0.0.2:7432")).isEqualTo(1);
    }
    first.close();
    awaitFree();
    assertThat(second.lead()).isGreaterThan(epoch);
    assertThat(second.isLeading()).isTrue();
    assertThat(second.observe().backends()).isNotEmpty();
    assertThat(sessionsOf("10.0.0.2:7432")).isEqualTo(1);
  }

  @Test
  void the_connection_that_awaits_it_ends_with_close() throws Exception {
    session("10.0.0.1:7432", "aaaa").lead();
    PostgresLeaderSession second = session("10.0.0.2:7432", "aaaa");
    assertThatThrownBy(second::lead).isInstanceOf(LeadershipHeldException.class);
    second.close();
    Await.until("its session ends", () -> sessionsOf("10.0.0.2:7432") == 0);
  }

  @Test
  void the_lead_is_not_taken_over_from_a_coordinator_with_another_configuration() throws Exception {
    PostgresLeaderSession first = session("10.0.0.1:7432", "aaaa");
    first.lead();
    PostgresLeaderSession second = session("10.0.0.2:7432", "bbbb");
    assertThatThrownBy(second::lead).hasMessageContaining("10.0.0.1:7432 leads (");
    first.close();
    awaitFree();

    assertThatThrownBy(second::lead)
        .isInstanceOfSatisfying(
            LeadershipHeldException.class,
            e -> {
              assertThat(e.hasSameConfiguration()).isFalse();
              assertThat(e.address()).as("nobody is there").isNull();
            })
        .hasMessageContaining("10.0.0.1:7432 leads no more")
        .hasMessageContaining("hash aaaa at 10.0.0.1:7432, bbbb here at 10.0.0.2:7432");
    assertThat(second.isLeading()).isFalse();
    awaitFree();

    PostgresLeaderSession third = session("10.0.0.3:7432", "bbbb");
    third.lead();
    assertThatThrownBy(second::lead)
        .isInstanceOfSatisfying(
            LeadershipHeldException.class, e -> assertThat(e.hasSameConfiguration()).isTrue());
    third.close();
    awaitFree();
    assertThat(second.lead()).isPositive();
  }

  private PostgresLeaderSession session(String address, String hash) {
    Properties login = new Properties();
    login.setProperty("user", coordinator.name());
    login.setProperty("password", coordinator.password());
    PostgresLeaderSession session =
        new PostgresLeaderSession(
            ConnectionSource.of(postgres.url("postgres"), login, Duration.ofSeconds(20)),
            address,
            hash,
            Duration.ofSeconds(15),
            Ticker.system(),
            false);
    opened.add(session);
    return session;
  }

  private static int sessionsOf(String address) {
    return number(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pgsteward "
            + address
            + " %'");
  }

  private static void awaitFree() throws InterruptedException {
    Await.until(
        "nobody holds the leader's lock",
        () ->
            number(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
                        + " AND granted AND (classid::bigint << 32) + objid::bigint = "
                        + Statements.LOCK_KEY)
                == 0);
  }

  private static int number(String query) {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(query)) {
      row.next();
      return row.getInt(1);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
