package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.close;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.failureOf;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.FaultProxy;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.Seeds;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.IOException;
import java.net.Socket;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.SocketFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.postgresql.PGConnection;

@Tag("postgres")
@Timeout(120)
@ExtendWith({NoThreadsLeft.class, Seeds.class})
class TenantPoolPostgresTest {

  @SuppressWarnings("NullAway.Init") // by startPostgres
  private static PostgresServer postgres;

  @RegisterExtension final PoolFixture fixture = new PoolFixture();

  @SuppressWarnings("NullAway.Init") // by makeRole
  private TestRole role;

  @BeforeAll
  static void startPostgres() {
    postgres = TestPostgres.shared();
  }

  @BeforeEach
  void makeRole() throws SQLException {
    role = postgres.createRole("pool");
  }

  private Properties credentials() {
    Properties properties = new Properties();
    properties.setProperty("user", role.name());
    properties.setProperty("password", role.password());
    return properties;
  }

  private TenantPoolSettings.Builder settings(int limit) {
    return TenantPoolSettings.builder("web@shop", postgres.url("postgres"), credentials())
        .initialLimit(limit);
  }

  private void limitRoleTo(int connections) throws SQLException {
    postgres.execute(
        "alter role " + PostgresServer.quoted(role.name()) + " connection limit " + connections);
  }

  /** Backends of the role, as PostgreSQL counts them. */
  private int backends() throws SQLException {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "select count(*) from pg_stat_activity where usename = '" + role.name() + "'")) {
      rows.next();
      return rows.getInt(1);
    }
  }

  private static int pidOf(Connection connection) throws SQLException {
    return connection.unwrap(PGConnection.class).getBackendPID();
  }

  private static void query(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void closing_and_opening_at_a_role_limit_of_one_never_reaches_the_borrower() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    for (int i = 0; i < 1_000; i++) {
      try (Connection connection = borrow(pool)) {
        if (i % 10 == 0) {
          query(connection, "create temp table t as select 1");
        }
        pool.limit(0);
      }
      pool.limit(1);
    }
    assertThat(pool.usage().counters().opened()).isGreaterThanOrEqualTo(1_000);
    assertThat(pool.usage().counters().refused53300()).isZero();
  }

  @Test
  void interrupts_at_random_lose_no_slot(Random random) throws Exception {
    TenantPool pool = fixture.pool(settings(3));
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger interrupted = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Thread thread =
          new Thread(
              () -> {
                while (!stop.get()) {
                  try (Connection connection = borrow(pool)) {
                    query(connection, "select 1");
                  } catch (SQLException e) {
                    interrupted.incrementAndGet();
                  }
                  Thread.interrupted();
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (int i = 0; i < 1_000; i++) {
      threads.get(random.nextInt(threads.size())).interrupt();
      TimeUnit.MICROSECONDS.sleep(random.nextInt(3_000));
    }
    stop.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    Await.until("closes are over", () -> pool.usage().closing() == 0);
    assertThat(pool.usage().inUse()).isZero();
    assertThat(pool.usage().held()).isEqualTo(backends());
    close(borrow(pool, 3));
    assertThat(interrupted.get()).isPositive();
  }

  @Test
  void a_lowering_of_twenty_idle_to_five_ends_fifteen_backends() throws Exception {
    TenantPool pool = fixture.pool(settings(20));
    close(borrow(pool, 20));
    assertThat(backends()).isEqualTo(20);
    pool.limit(5);
    Await.until("the pool holds 5", () -> pool.usage().held() == 5);
    assertThat(backends()).isEqualTo(5);
    assertThat(pool.usage().pids()).hasSize(5);
  }

  @Test
  void a_lowering_with_all_in_use_interrupts_nothing() throws Exception {
    TenantPool pool = fixture.pool(settings(6));
    List<Connection> held = borrow(pool, 6);
    for (Connection connection : held) {
      connection.setAutoCommit(false);
      query(connection, "select 1");
    }
    pool.limit(2);
    for (Connection connection : held) {
      query(connection, "select 2");
      connection.commit();
      connection.close();
    }
    Await.until("the pool holds 2", () -> pool.usage().held() == 2);
    assertThat(backends()).isEqualTo(2);
  }

  @Test
  void a_terminated_backend_gives_its_slot_back() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    Connection lent = borrow(pool);
    postgres.execute("select pg_terminate_backend(" + pidOf(lent) + ")");
    assertThatThrownBy(() -> query(lent, "select 1")).isInstanceOf(SQLException.class);
    borrow(pool).close();
    lent.close();
    borrow(pool).close();
  }

  @Test
  void a_connection_closed_through_pgjdbc_gives_its_slot_back() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    Connection lent = borrow(pool);
    lent.unwrap(org.postgresql.jdbc.PgConnection.class).close();
    Connection next = borrow(pool);
    lent.close();
    assertThat(pool.usage().inUse()).isEqualTo(1);
    next.close();
  }

  @Test
  void an_abort_in_the_middle_of_a_statement_counts_until_the_backend_is_gone() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    Connection lent = borrow(pool);
    int pid = pidOf(lent);
    FutureTask<Boolean> running =
        fixture.start(
            () -> {
              assertThatThrownBy(() -> query(lent, "select pg_sleep(600)"))
                  .isInstanceOf(SQLException.class);
              return true;
            });
    Await.until("it runs", () -> isRunning(pid));
    lent.abort(Runnable::run);
    get(running);
    Await.until("it is closing", () -> pool.usage().closing() == 1);
    assertThat(pool.usage().pids()).containsExactly(pid);
    assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(200))))
        .isInstanceOf(BorrowFailure.TimedOut.class);
    postgres.execute("select pg_terminate_backend(" + pid + ")");
    Await.until("PostgreSQL shows it gone", () -> !exists(pid));
    pool.gone(List.of(pid));
    borrow(pool).close();
  }

  @Test
  void a_backend_that_lives_on_is_found_gone_over_another_connection() throws Exception {
    TenantPool pool = fixture.pool(settings(2));
    List<Connection> held = borrow(pool, 2);
    Connection aborted = held.get(0);
    int pid = pidOf(aborted);
    FutureTask<Boolean> running =
        fixture.start(
            () -> {
              assertThatThrownBy(() -> query(aborted, "select pg_sleep(600)"))
                  .isInstanceOf(SQLException.class);
              return true;
            });
    Await.until("it runs", () -> isRunning(pid));
    aborted.abort(Runnable::run);
    get(running);
    Await.until("it is closing", () -> pool.usage().closing() == 1);
    held.get(1).close();
    TimeUnit.MILLISECONDS.sleep(600); // long enough to be asked about
    assertThat(pool.usage().closing()).isEqualTo(1);
    postgres.execute("select pg_terminate_backend(" + pid + ")");
    Await.until("it is found gone", () -> pool.usage().closing() == 0);
    assertThat(pool.usage().counters().gaveUpCloses()).isZero();
    close(borrow(pool, 2));
  }

  private boolean isRunning(int pid) {
    return exists(pid, " and state = 'active' and query like '%pg_sleep%'");
  }

  private boolean exists(int pid) {
    return exists(pid, "");
  }

  private boolean exists(int pid, String condition) {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "select 1 from pg_stat_activity where pid = " + pid + condition)) {
      return rows.next();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void every_connection_has_the_isolation_of_the_role_and_gets_it_back_after_use()
      throws Exception {
    postgres.execute(
        "alter role "
            + PostgresServer.quoted(role.name())
            + " set default_transaction_isolation = 'repeatable read'");
    TenantPool pool = fixture.pool(settings(3));
    for (int i = 0; i < 2; i++) {
      List<Connection> held = borrow(pool, 3);
      for (Connection connection : held) {
        assertThat(connection.getTransactionIsolation())
            .isEqualTo(Connection.TRANSACTION_REPEATABLE_READ);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      }
      close(held);
    }
  }

  @Test
  void a_wrong_password_is_told_at_once() throws Exception {
    postgres.execute("alter role " + PostgresServer.quoted(role.name()) + " nologin");
    TenantPool pool = fixture.pool(settings(5));
    assertThat(failureOf(() -> borrow(pool)))
        .isInstanceOfSatisfying(
            BorrowFailure.OpenFailed.class,
            failed -> assertThat(failed.cause().getSQLState()).startsWith("28"));
  }

  @Test
  void a_missing_database_is_told_at_once() throws Exception {
    TenantPool pool =
        fixture.pool(
            TenantPoolSettings.builder("web@none", postgres.url("no_such_database"), credentials())
                .initialLimit(5));
    assertThat(failureOf(() -> borrow(pool)))
        .isInstanceOfSatisfying(
            BorrowFailure.OpenFailed.class,
            failed -> assertThat(failed.cause().getSQLState()).isEqualTo("3D000"));
  }

  @Test
  void the_application_name_and_keepalive_are_set_and_the_users_own_win() throws Exception {
    TenantPool pool = fixture.pool(settings(1).applicationName("shop web m1"));
    try (Connection connection = borrow(pool);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("show application_name")) {
      rows.next();
      assertThat(rows.getString(1)).isEqualTo("shop web m1");
    }
    Properties own = credentials();
    own.setProperty("ApplicationName", "mine");
    TenantPool other =
        fixture.pool(
            TenantPoolSettings.builder("web@shop", postgres.url("postgres"), own).initialLimit(1));
    try (Connection connection = borrow(other);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("show application_name")) {
      rows.next();
      assertThat(rows.getString(1)).isEqualTo("mine");
    }
  }

  /** A socket factory of the user's own. */
  public static final class CountingFactory extends SocketFactory {

    static final AtomicInteger MADE = new AtomicInteger();

    @Override
    public Socket createSocket() {
      MADE.incrementAndGet();
      return new Socket();
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
      MADE.incrementAndGet();
      return new Socket(host, port);
    }

    @Override
    public Socket createSocket(String host, int port, java.net.InetAddress from, int fromPort)
        throws IOException {
      return createSocket(host, port);
    }

    @Override
    public Socket createSocket(java.net.InetAddress host, int port) throws IOException {
      return createSocket(host.getHostAddress(), port);
    }

    @Override
    public Socket createSocket(
        java.net.InetAddress host, int port, java.net.InetAddress from, int fromPort)
        throws IOException {
      return createSocket(host, port);
    }
  }

  @Test
  void a_socket_factory_of_the_users_is_used_in_the_properties_and_in_the_url() throws Exception {
    limitRoleTo(1);
    String name = CountingFactory.class.getName();
    Properties own = credentials();
    own.setProperty("socketFactory", name);
    int before = CountingFactory.MADE.get();
    TenantPool one =
        fixture.pool(
            TenantPoolSettings.builder("web@shop", postgres.url("postgres"), own).initialLimit(1));
    borrow(one).close();
    assertThat(CountingFactory.MADE).hasValue(before + 1);
    one.limit(0);
    Await.until("it is gone", () -> one.usage().held() == 0);
    String url = postgres.url("postgres");
    TenantPool two =
        fixture.pool(
            TenantPoolSettings.builder(
                    "web@shop",
                    url + (url.contains("?") ? "&" : "?") + "socketFactory=" + name,
                    credentials())
                .initialLimit(1));
    borrow(two).close();
    assertThat(CountingFactory.MADE).hasValue(before + 2);
    two.limit(0);
    Await.until("it is gone", () -> two.usage().held() == 0);
    assertThat(backends()).isZero();
  }

  @Test
  void a_black_holed_server_keeps_nobody_beyond_the_deadline() throws Exception {
    try (FaultProxy proxy = FaultProxy.before(postgres)) {
      TenantPool pool = fixture.pool(through(proxy).connectTimeout(Duration.ofSeconds(3)));
      pool.limit(6);
      close(borrow(pool, 3));
      proxy.drop();
      TimeUnit.MILLISECONDS.sleep(700); // idle ones will be tested at the next borrow
      List<FutureTask<Long>> threads = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        threads.add(
            fixture.start(
                () -> {
                  long began = System.nanoTime();
                  assertThat(failureOf(() -> pool.getConnection(TimeUnit.SECONDS.toNanos(2))))
                      .isInstanceOf(BorrowFailure.TimedOut.class);
                  return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
                }));
      }
      for (FutureTask<Long> thread : threads) {
        assertThat(get(thread)).isBetween(1_900L, 4_000L);
      }
      assertThat(pool.usage().held()).isLessThanOrEqualTo(6);
      pool.checkInvariants();
    }
  }

  @Test
  void a_swallowed_answer_during_the_login_ends_at_the_connect_timeout() throws Exception {
    try (FaultProxy proxy = FaultProxy.before(postgres)) {
      proxy.stall();
      TenantPool pool = fixture.pool(through(proxy).connectTimeout(Duration.ofMillis(700)));
      pool.limit(1);
      FutureTask<Connection> waiting = fixture.start(() -> borrow(pool));
      Await.until("an opening failed", () -> !fixture.events.openFailed.isEmpty());
      assertThat((Throwable) fixture.events.openFailed.get(0).getCause())
          .hasMessageContaining("connect timeout");
      proxy.pass();
      proxy.cut();
      proxy.pass();
      get(waiting).close();
    }
  }

  @Test
  void closing_the_runtime_ends_a_login_that_hangs() throws Exception {
    try (FaultProxy proxy = FaultProxy.before(postgres)) {
      proxy.stall();
      TenantPool pool = fixture.pool(through(proxy).connectTimeout(Duration.ofSeconds(100)));
      pool.limit(1);
      FutureTask<BorrowFailure> waiting = fixture.start(() -> failureOf(() -> borrow(pool)));
      Await.until("the login hangs", () -> proxy.accepted() > 0);
      pool.close();
      assertThat(get(waiting)).isInstanceOf(BorrowFailure.Closed.class);
      fixture.runtime().close();
      assertThat(pool.awaitClosed(TimeUnit.SECONDS.toNanos(10))).isTrue();
    }
  }

  @Test
  void a_failed_opening_whose_backend_ends_at_that_very_moment_gives_its_slot_back()
      throws Exception {
    try (FaultProxy proxy = FaultProxy.before(postgres)) {
      CountDownLatch released = new CountDownLatch(1);
      // Holds the opening's thread where it has just told of the lost backend, while the backend's
      // end is found by the pool's own look.
      PoolEvents events =
          new PoolEvents() {
            @Override
            public void closeUnconfirmed(int pid) {
              proxy.cut();
              try {
                released.await(10, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              proxy.pass();
            }

            @Override
            public void slotReleased() {
              released.countDown();
            }
          };
      TenantPool pool =
          new TenantPool(
              through(proxy).connectTimeout(Duration.ofMillis(700)).initialLimit(1).build(),
              fixture.runtime(),
              events,
              PoolFixture.Failed::new);
      proxy.stall();
      borrow(pool).close();
      pool.checkInvariants();
      pool.close();
    }
  }

  private TenantPoolSettings.Builder through(FaultProxy proxy) {
    return TenantPoolSettings.builder(
        "web@shop", "jdbc:postgresql://127.0.0.1:" + proxy.port() + "/postgres", credentials());
  }

  @Test
  void a_black_holed_first_host_leaves_time_for_the_second() throws Exception {
    try (FaultProxy proxy = FaultProxy.before(postgres)) {
      proxy.stall();
      TenantPool pool =
          fixture.pool(
              TenantPoolSettings.builder(
                      "web@shop",
                      "jdbc:postgresql://127.0.0.1:"
                          + proxy.port()
                          + ","
                          + postgres.host()
                          + ":"
                          + postgres.port()
                          + "/postgres",
                      credentials())
                  .connectTimeout(Duration.ofSeconds(2))
                  .initialLimit(1));
      borrow(pool).close();
    }
  }
}
