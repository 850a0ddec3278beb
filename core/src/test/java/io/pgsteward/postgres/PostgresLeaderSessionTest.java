package io.pgsteward.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.model.Ticker;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.FaultProxy;
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
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("postgres")
@Timeout(120)
class PostgresLeaderSessionTest {

  private static final Duration LEASE = Duration.ofSeconds(15);
  private static final String ADDRESS = "http://10.0.0.1:7432";

  private static PostgresServer postgres;
  private static TestRole coordinator;

  private final List<AutoCloseable> opened = new ArrayList<>();

  @BeforeAll
  static void start() throws SQLException {
    postgres = TestPostgres.shared();
    coordinator = postgres.createRoleNamed(postgres.newName("coordinator"), "IN ROLE pg_monitor");
  }

  @BeforeEach
  void nobodyLeads() throws Exception {
    awaitHolders(0);
  }

  @AfterEach
  void closeWhatWasOpened() throws Exception {
    for (AutoCloseable one : opened) {
      one.close();
    }
  }

  @Nested
  class the_leaders_lock {

    @Test
    void is_taken_and_each_term_has_a_larger_epoch() throws Exception {
      PostgresLeaderSession session = session(ADDRESS, "aaaa");
      assertThat(session.isLeading()).isFalse();

      long first = session.lead();
      assertThat(session.isLeading()).isTrue();
      long second = session.lead();
      session.close();
      assertThat(session.isLeading()).isFalse();
      awaitHolders(0);
      long third = session(ADDRESS, "aaaa").lead();

      assertThat(first).isPositive();
      assertThat(second).isGreaterThan(first);
      assertThat(third).isGreaterThan(second);
    }

    @Test
    void is_refused_to_a_second_coordinator_which_learns_who_leads() throws Exception {
      session(ADDRESS, "aaaa").lead();
      PostgresLeaderSession other = session("http://10.0.0.2:7432", "aaaa");

      LeadershipHeldException refused =
          catchThrowableOfType(LeadershipHeldException.class, other::lead);

      assertThat(refused.holder()).isEqualTo(ADDRESS);
      assertThat(refused.getMessage())
          .contains(ADDRESS, coordinator.name())
          .doesNotContain("configuration");
      assertThat(other.isLeading()).isFalse();
    }

    @Test
    void tells_a_coordinator_with_another_configuration() throws Exception {
      session(ADDRESS, "aaaa").lead();

      assertThatThrownBy(session("http://10.0.0.2:7432", "bbbb")::lead)
          .isInstanceOf(LeadershipHeldException.class)
          .hasMessageContaining("another configuration")
          .hasMessageContaining("aaaa")
          .hasMessageContaining("bbbb");
    }

    @Test
    void is_free_again_after_close() throws Exception {
      PostgresLeaderSession first = session(ADDRESS, "aaaa");
      first.lead();
      first.close();
      first.close();
      awaitHolders(0);

      assertThat(session("http://10.0.0.2:7432", "aaaa").lead()).isPositive();
      assertThatThrownBy(first::lead)
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("closed");
      assertThatThrownBy(first::observe).isInstanceOf(SQLException.class);
      awaitHolders(1);
    }

    @Test
    void held_by_another_role_is_refused_aloud() throws Exception {
      TestRole intruder = postgres.createRole("intruder");
      Connection connection = postgres.connect("postgres", intruder);
      opened.add(connection);
      run(
          connection,
          "SELECT set_config('application_name', 'pgsteward http://evil:1 aaaa', false)");
      run(connection, "SELECT pg_advisory_lock(" + Statements.LOCK_KEY + ")");

      assertThatThrownBy(session(ADDRESS, "aaaa")::lead)
          .isInstanceOf(SQLException.class)
          .isNotInstanceOf(LeadershipHeldException.class)
          .hasMessageContaining(intruder.name())
          .hasMessageContaining("pg_terminate_backend")
          .message()
          .doesNotContain("coordinator=http");
    }

    @Test
    void held_by_a_coordinator_of_another_role_tells_where_it_is() throws Exception {
      TestRole other = postgres.createRole("other");
      Connection connection = postgres.connect("postgres", other);
      opened.add(connection);
      run(connection, "SELECT set_config('application_name', 'pgsteward 10.0.0.2:7432 aa', false)");
      run(connection, "SELECT pg_advisory_lock(" + Statements.LOCK_KEY + ")");

      assertThatThrownBy(sessionOf(postgres.createRole("plain"))::lead)
          .isNotInstanceOf(LeadershipHeldException.class)
          .hasMessageContaining("a coordinator at 10.0.0.2:7432 leads")
          .hasMessageContaining("coordinator=http://10.0.0.2:7432")
          .hasMessageContaining("address not visible")
          .hasMessageContaining(other.name());
    }

    @Test
    void held_in_another_database_is_refused_aloud() throws Exception {
      String elsewhere = postgres.createDatabase("elsewhere");
      Connection connection = postgres.connect(elsewhere, coordinator);
      opened.add(connection);
      run(connection, "SELECT pg_advisory_lock(" + Statements.LOCK_KEY + ")");
      PostgresLeaderSession session = session(ADDRESS, "aaaa");

      assertThatThrownBy(session::lead)
          .isInstanceOf(SQLException.class)
          .isNotInstanceOf(LeadershipHeldException.class)
          .hasMessageContaining(elsewhere)
          .hasMessageContaining("same database");
      connection.close();
      awaitHolders(0);
      assertThat(session.lead()).isPositive();
    }

    @Test
    void other_advisory_locks_are_none_of_its_business() throws Exception {
      Connection connection = postgres.connect();
      opened.add(connection);
      int high = (int) (Statements.LOCK_KEY >>> 32);
      int low = (int) Statements.LOCK_KEY;
      run(connection, "SELECT pg_advisory_lock(" + high + ", " + low + ")");
      run(connection, "SELECT pg_advisory_lock(" + (Statements.LOCK_KEY + 1) + ")");

      assertThat(session(ADDRESS, "aaaa").lead()).isPositive();
    }

    @Test
    void an_address_too_long_for_an_application_name_is_cut_and_the_hash_kept() throws Exception {
      String address = "http://" + "coordinator-0.".repeat(10) + "svc:7432";
      session(address, "0123456789abcdef").lead();

      assertThatThrownBy(session(ADDRESS, "0123456789abcdef")::lead)
          .isInstanceOfSatisfying(
              LeadershipHeldException.class,
              e -> {
                assertThat(e.holder()).endsWith("~").isEqualTo(shortened(address, e.holder()));
                assertThat(e.getMessage()).doesNotContain("another configuration");
              });
    }

    private String shortened(String address, String holder) {
      return address.substring(0, holder.length() - 1) + "~";
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "two words"})
    void an_address_that_is_no_word_is_refused(String address) {
      assertThatThrownBy(() -> session(address, "aaaa"))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Nested
  class a_look {

    @Test
    void shows_limits_and_every_client_connection_with_its_role() throws Exception {
      TestRole app = postgres.createRole("app");
      String database = postgres.createDatabase("shop");
      Connection one = postgres.connect(database, app);
      opened.add(one);
      Connection boss = postgres.connect();
      opened.add(boss);
      PostgresLeaderSession session = session(ADDRESS, "aaaa");
      session.lead();
      long before = Ticker.system().nanos();

      Observation look = session.observe();

      assertThat(look.startedNanos()).isBetween(before, Ticker.system().nanos());
      assertThat(look.complete()).isTrue();
      assertThat(look.limits())
          .isEqualTo(
              new ServerLimits(
                  setting("max_connections"),
                  setting("superuser_reserved_connections"),
                  version() >= 16 ? setting("reserved_connections") : 0));
      assertThat(look.backends())
          .contains(
              new Backend(pid(one), app.name(), database, false),
              new Backend(pid(boss), postgres.superuser(), "postgres", true),
              new Backend(look.ownPid(), coordinator.name(), "postgres", false));
      assertThat(look.backends()).hasSize(clientBackends());
    }

    @Test
    void without_the_right_to_see_kinds_counts_every_row_with_a_role() throws Exception {
      TestRole plain = postgres.createRole("plain");
      TestRole app = postgres.createRole("app");
      Connection one = postgres.connect("postgres", app);
      opened.add(one);
      PostgresLeaderSession session = sessionOf(plain);
      session.lead();

      Observation look = session.observe();

      assertThat(look.complete()).isFalse();
      assertThat(look.backends()).allSatisfy(b -> assertThat(b.role()).isNotNull());
      assertThat(look.backends()).contains(new Backend(pid(one), app.name(), "postgres", false));
      assertThat(look.backends().size()).isGreaterThanOrEqualTo(clientBackends() - 1);
    }

    @Test
    void counts_a_restart_free_change_of_connections_at_once() throws Exception {
      TestRole app = postgres.createRole("app");
      PostgresLeaderSession session = session(ADDRESS, "aaaa");
      session.lead();
      for (int round = 0; round < 20; round++) {
        Connection one = postgres.connect("postgres", app);
        int pid = pid(one);
        assertThat(session.observe().backends()).anyMatch(b -> b.pid() == pid);
        one.close();
        Await.until(
            "backend " + pid + " gone",
            () -> {
              try {
                return session.observe().backends().stream().noneMatch(b -> b.pid() == pid);
              } catch (SQLException e) {
                throw new IllegalStateException(e);
              }
            });
      }
    }

    @Test
    void before_leading_is_refused() {
      assertThatThrownBy(session(ADDRESS, "aaaa")::observe)
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("not connected");
    }
  }

  @Nested
  class its_session {

    @Test
    void is_known_by_address_and_hash_and_has_its_settings() throws Exception {
      PostgresLeaderSession session = session(ADDRESS, "aaaa");
      session.lead();

      try (Connection connection = postgres.connect();
          Statement statement = connection.createStatement();
          ResultSet row =
              statement.executeQuery(
                  "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgsteward "
                      + ADDRESS
                      + " aaaa'")) {
        row.next();
        assertThat(row.getInt(1)).isEqualTo(1);
      }
    }

    @Test
    void that_was_ended_by_the_server_leads_no_more_and_can_lead_again() throws Exception {
      PostgresLeaderSession session = session(ADDRESS, "aaaa");
      long first = session.lead();
      int pid = session.observe().ownPid();
      postgres.execute("SELECT pg_terminate_backend(" + pid + ")");
      awaitHolders(0);

      assertThatThrownBy(session::observe).isInstanceOf(SQLException.class);
      assertThat(session.isLeading()).isFalse();
      assertThat(session.lead()).isGreaterThan(first);
      assertThat(session.observe().ownPid()).isNotEqualTo(pid);
    }

    @Test
    void that_is_silent_is_ended_by_the_server_below_the_lease() throws Exception {
      Assumptions.assumeTrue(version() >= 14, "idle_session_timeout came with PostgreSQL 14");
      PostgresLeaderSession session =
          new PostgresLeaderSession(
              source(coordinator), ADDRESS, "aaaa", Duration.ofMillis(600), Ticker.system(), false);
      opened.add(session);
      session.lead();

      awaitHolders(0);

      assertThatThrownBy(session::observe).isInstanceOf(SQLException.class);
      assertThat(session.isLeading()).isFalse();
    }

    @Test
    void on_a_connection_that_says_nothing_any_more_gives_up_within_its_deadline()
        throws Exception {
      try (FaultProxy proxy = FaultProxy.before(postgres)) {
        PostgresLeaderSession session = through(proxy, Duration.ofSeconds(3));
        session.lead();
        proxy.drop();

        assertThatThrownBy(session::observe).isInstanceOf(SQLException.class);
        assertThat(session.isLeading()).isFalse();
      }
    }

    @Test
    void that_was_cut_off_is_replaced_though_the_server_has_not_noticed() throws Exception {
      try (FaultProxy proxy = FaultProxy.before(postgres)) {
        PostgresLeaderSession session = through(proxy, Duration.ofSeconds(6));
        long first = session.lead();
        proxy.drop();
        assertThatThrownBy(session::observe).isInstanceOf(SQLException.class);
        proxy.pass();
        int former = holders();

        long second = session.lead();

        assertThat(former).as("the old session still holds the lock").isEqualTo(1);
        assertThat(second).isGreaterThan(first);
        awaitHolders(1);
      }
    }

    @Test
    void is_closed_from_another_thread_while_a_look_waits() throws Exception {
      try (FaultProxy proxy = FaultProxy.before(postgres)) {
        PostgresLeaderSession session = through(proxy, Duration.ofMinutes(10));
        session.lead();
        proxy.stall();
        List<Throwable> failures = new ArrayList<>();
        Thread looker =
            new Thread(
                () -> {
                  try {
                    session.observe();
                  } catch (SQLException e) {
                    failures.add(e);
                  }
                });
        looker.start();
        Await.until(
            "the look waits", () -> looker.getState() == Thread.State.RUNNABLE && looker.isAlive());
        session.close();
        looker.join(60_000);

        assertThat(looker.isAlive()).isFalse();
        assertThat(failures).hasSize(1);
        assertThat(session.isLeading()).isFalse();
      }
    }

    private PostgresLeaderSession through(FaultProxy proxy, Duration lease) {
      String url = "jdbc:postgresql://127.0.0.1:" + proxy.port() + "/postgres";
      ConnectionSource proxied =
          ConnectionSource.of(url, login(coordinator), Duration.ofSeconds(20));
      PostgresLeaderSession session =
          new PostgresLeaderSession(proxied, ADDRESS, "aaaa", lease, Ticker.system(), false);
      opened.add(session);
      return session;
    }
  }

  private PostgresLeaderSession session(String address, String hash) {
    return session(coordinator, address, hash);
  }

  private PostgresLeaderSession sessionOf(TestRole role) {
    return session(role, ADDRESS, "aaaa");
  }

  private PostgresLeaderSession session(TestRole role, String address, String hash) {
    PostgresLeaderSession session =
        new PostgresLeaderSession(source(role), address, hash, LEASE, Ticker.system(), false);
    opened.add(session);
    return session;
  }

  private static ConnectionSource source(TestRole role) {
    return ConnectionSource.of(postgres.url("postgres"), login(role), Duration.ofSeconds(20));
  }

  private static Properties login(TestRole role) {
    Properties login = new Properties();
    login.setProperty("user", role.name());
    login.setProperty("password", role.password());
    return login;
  }

  private static void awaitHolders(int count) throws InterruptedException {
    Await.until(
        count + " sessions hold the leader's lock",
        () -> {
          try {
            return holders() == count;
          } catch (SQLException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  private static int holders() throws SQLException {
    return number(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
            + " AND (classid::bigint << 32) + objid::bigint = "
            + Statements.LOCK_KEY);
  }

  private static int setting(String name) throws SQLException {
    return number("SELECT current_setting('" + name + "')::int");
  }

  private static int version() throws SQLException {
    return setting("server_version_num") / 10_000;
  }

  /** Client connections without the one that counts. */
  private static int clientBackends() throws SQLException {
    return number(
        "SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'");
  }

  private static int number(String query) throws SQLException {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(query)) {
      row.next();
      return row.getInt(1);
    }
  }

  private static int pid(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
      row.next();
      return row.getInt(1);
    }
  }

  private static void run(Connection connection, String query) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(query);
    }
  }
}
