package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.testing.FaultProxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What PostgreSQL is asked to do about clients that vanish without a word. */
class VanishedClientTest extends PoolOnPostgres {

  private String shown(TenantPoolSettings.Builder settings, String name) throws SQLException {
    try (Connection connection =
            fixture.pool(settings).getConnection(TimeUnit.SECONDS.toNanos(30));
        Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery("SELECT setting FROM pg_settings WHERE name = '" + name + "'")) {
      row.next();
      return row.getString(1);
    }
  }

  private TenantPoolSettings.Builder minute() {
    return settings(1).vanishedClientTimeout(Duration.ofMinutes(1));
  }

  @Test
  void a_minute_is_half_a_minute_of_silence_and_three_probes() throws SQLException {
    assertThat(shown(minute(), "tcp_keepalives_idle")).isEqualTo("30");
    assertThat(shown(minute(), "tcp_keepalives_interval")).isEqualTo("10");
    assertThat(shown(minute(), "tcp_keepalives_count")).isEqualTo("3");
    assertThat(shown(minute(), "tcp_user_timeout")).isEqualTo("60000");
    assertThat(shown(minute(), "client_connection_check_interval")).isEqualTo("10000");
  }

  @Test
  void a_shorter_time_from_elsewhere_is_left_alone() throws SQLException {
    Properties own = credentials();
    own.setProperty(
        "options",
        "-c TCP_KEEPALIVES_IDLE=7 -c tcp_keepalives_interval=700"
            + " -c client_connection_check_interval=5000 -c work_mem=5MB -c search_path=a\\");
    TenantPoolSettings.Builder settings =
        TenantPoolSettings.builder("web@shop", postgres.url("postgres"), own)
            .initialLimit(1)
            .vanishedClientTimeout(Duration.ofMinutes(1));
    assertThat(shown(settings, "tcp_keepalives_idle")).isEqualTo("7");
    assertThat(shown(settings, "client_connection_check_interval")).isEqualTo("5000");
    assertThat(shown(settings, "work_mem")).isEqualTo("5120");
    assertThat(shown(settings, "tcp_keepalives_interval")).isEqualTo("10");
  }

  @Test
  void zero_leaves_the_server_as_it_is_set() throws SQLException {
    TenantPoolSettings.Builder settings = settings(1);
    assertThat(shown(settings, "tcp_user_timeout")).isEqualTo("0");
    assertThat(shown(settings, "client_connection_check_interval")).isEqualTo("0");
  }

  @Test
  void a_server_that_refuses_what_is_asked_gives_a_connection_all_the_same() throws SQLException {
    // More milliseconds than PostgreSQL's figures hold.
    TenantPoolSettings.Builder settings = settings(1).vanishedClientTimeout(Duration.ofDays(60));
    assertThat(shown(settings, "tcp_user_timeout")).isEqualTo("0");
  }

  @Test
  void a_statement_ends_soon_after_its_client_is_gone() throws Exception {
    try (FaultProxy network = FaultProxy.before(postgres)) {
      TenantPool pool =
          fixture.pool(
              TenantPoolSettings.builder(
                      "web@shop",
                      "jdbc:postgresql://127.0.0.1:" + network.port() + "/postgres",
                      credentials())
                  .initialLimit(1)
                  .vanishedClientTimeout(Duration.ofMillis(600)));
      Connection connection = pool.getConnection(TimeUnit.SECONDS.toNanos(30));
      CompletableFuture<Void> asleep =
          CompletableFuture.runAsync(
              () ->
                  assertThatThrownBy(() -> query(connection, "select pg_sleep(110)"))
                      .isInstanceOf(SQLException.class));
      while (statementsRunning() == 0) {
        TimeUnit.MILLISECONDS.sleep(5);
      }

      network.cut();

      asleep.get(60, TimeUnit.SECONDS);
      connection.close();
      while (backends() > 0) { // far less than the 110 s; the test's own time is the guard
        TimeUnit.MILLISECONDS.sleep(5);
      }
    }
  }

  private int statementsRunning() throws SQLException {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "select count(*) from pg_stat_activity where state = 'active' and usename = '"
                    + role.name()
                    + "'")) {
      row.next();
      return row.getInt(1);
    }
  }
}
