package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.TenantPoolSettings;
import io.pgsteward.model.TenantId;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
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
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Members with {@code coordinator=local} on a real PostgreSQL. */
@Tag("postgres")
@Timeout(120)
@ExtendWith(NoThreadsLeft.class)
class LocalCoordinatorTest {

  private static final long LONG = TimeUnit.SECONDS.toNanos(30);

  @SuppressWarnings("NullAway.Init") // by startPostgres
  private static PostgresServer postgres;

  private final List<Connection> loans = new ArrayList<>();
  private final List<Member> members = new ArrayList<>();

  @SuppressWarnings("NullAway.Init") // by makeRole
  private TestRole role;

  @BeforeAll
  static void startPostgres() {
    postgres = TestPostgres.shared();
  }

  @BeforeEach
  void makeRole() throws SQLException {
    role = postgres.createRole("local");
  }

  @AfterEach
  void close() throws SQLException {
    for (Connection loan : loans) {
      loan.close();
    }
    members.forEach(Member::shutDown);
  }

  private Member member(TestRole as) {
    Member member =
        Member.create(
            MemberSettings.local(
                postgres.host() + ":" + postgres.port(),
                postgres.url("postgres"),
                login(as),
                "test"));
    members.add(member);
    return member;
  }

  private static Properties login(TestRole as) {
    Properties login = new Properties();
    login.setProperty("user", as.name());
    login.setProperty("password", as.password());
    return login;
  }

  private TenantAccess access(Member member, TestRole as) throws SQLException {
    TenantId tenant = TenantId.of(as.name(), "postgres");
    return member.access(
        new TenantSettings(
            tenant,
            TenantPoolSettings.builder(tenant.toString(), postgres.url("postgres"), login(as))
                .build(),
            2),
        failure -> new SQLException(failure.toString()),
        PoolEvents.NONE);
  }

  private Connection borrow(TenantAccess access) throws SQLException {
    Connection connection = access.getConnection(LONG);
    loans.add(connection);
    return connection;
  }

  private int backends(TestRole of) throws SQLException {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT count(*) FROM pg_stat_activity WHERE usename = '" + of.name() + "'")) {
      row.next();
      return row.getInt(1);
    }
  }

  @Test
  void a_single_process_is_served_from_the_whole_budget_at_once() throws Exception {
    Member member = member(role);
    TenantAccess access = access(member, role);
    for (int i = 0; i < 5; i++) {
      borrow(access);
    }
    CoordinatorView state = member.coordinatorState();
    assertThat(state.coordinator()).isEqualTo("local");
    assertThat(state.reachable()).as(state.describe()).isTrue();
    assertThat(state.budget()).isPositive();
    CoordinatorView.Tenant grant = Objects.requireNonNull(access.grant());
    assertThat(grant.grant()).as("more than fallbackSlots").isGreaterThanOrEqualTo(5);
  }

  @Test
  void nothing_connects_before_the_first_demand() throws Exception {
    access(member(role), role);
    assertThat(backends(role)).isZero();
  }

  @Test
  void closing_leaves_no_session_behind() throws Exception {
    Member member = member(role);
    borrow(access(member, role)).close();
    assertThat(backends(role)).as("one connection and the control session").isEqualTo(2);
    members.remove(member);
    member.shutDown();
    Await.until("every backend of the role is gone", Duration.ofSeconds(20), () -> gone(role));
  }

  private boolean gone(TestRole of) {
    try {
      return backends(of) == 0;
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void a_second_process_has_fallback_slots_names_the_holder_and_takes_over() throws Exception {
    Member first = member(role);
    borrow(access(first, role)).close();

    Member second = member(role);
    TenantAccess access = access(second, role);
    borrow(access);
    borrow(access);
    CoordinatorView.Tenant grant = Objects.requireNonNull(access.grant());
    assertThat(grant.limit()).isEqualTo(2);
    assertThat(second.coordinatorState().trouble())
        .contains("another process coordinates")
        .contains("local-pid-" + ProcessHandle.current().pid())
        .contains("coordinator=http://");

    members.remove(first);
    first.shutDown();

    Await.until(
        "the second leads", Duration.ofSeconds(60), () -> second.coordinatorState().reachable());
  }

  @Test
  void beside_a_coordinator_of_another_role_it_says_where_that_is() throws Exception {
    try (Connection coordinator = postgres.connect("postgres", postgres.createRole("steward"));
        Statement statement = coordinator.createStatement()) {
      statement.execute("SET application_name = 'pgsteward 10.0.0.2:7432 abcd'");
      statement.execute("SELECT pg_advisory_lock(" + 0x7067_7374_6577_7264L + ")");

      Member member = member(role);
      borrow(access(member, role));

      assertThat(member.coordinatorState().trouble())
          .contains("a coordinator at 10.0.0.2:7432 leads")
          .contains("coordinator=http://10.0.0.2:7432")
          .contains("address not visible");
    }
  }

  @Test
  void a_second_role_in_the_process_is_managed_too() throws Exception {
    Member member = member(role);
    borrow(access(member, role));
    TestRole other = postgres.createRole("local");
    TenantAccess access = access(member, other);
    borrow(access);
    borrow(access);
    borrow(access);
    CoordinatorView.Tenant grant = Objects.requireNonNull(access.grant());
    assertThat(grant.grant()).isGreaterThanOrEqualTo(3);
  }

  @Test
  void a_wrong_password_is_said_and_borrowers_are_not_kept_waiting_for_it() throws Exception {
    TestRole wrong = new TestRole(role.name(), "wrong");
    try (Connection probe = postgres.connect("postgres", wrong)) {
      Assumptions.abort("this server asks for no password: " + probe);
    } catch (SQLException expected) {
      Member member = member(wrong);
      TenantAccess access = access(member, wrong);
      assertThatThrownBy(() -> access.getConnection(LONG)).hasMessageContaining("OpenFailed");
      assertThat(member.coordinatorState().trouble()).contains("password authentication");
    }
  }
}
