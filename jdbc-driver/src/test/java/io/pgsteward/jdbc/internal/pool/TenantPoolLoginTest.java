package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.close;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.failureOf;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.FaultProxy;
import io.pgsteward.testing.PostgresServer;
import java.io.IOException;
import java.net.Socket;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.SocketFactory;
import org.junit.jupiter.api.Test;

/** How connections are opened, and how that fails. */
class TenantPoolLoginTest extends PoolOnPostgres {

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
        assertThat(get(thread)).isBetween(1_900L, 2_900L);
      }
      assertThat(pool.usage().held()).isLessThanOrEqualTo(6);
      pool.checkInvariants();
    }
  }

  @Test
  void dead_idle_connections_cost_a_borrower_no_more_than_its_own_time() throws Exception {
    try (FaultProxy proxy = FaultProxy.before(postgres)) {
      TenantPool pool = fixture.pool(through(proxy).connectTimeout(Duration.ofSeconds(3)));
      pool.limit(8);
      close(borrow(pool, 8));
      proxy.drop();
      TimeUnit.MILLISECONDS.sleep(700); // all will be tested at the next borrow
      long began = System.nanoTime();
      assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(500))))
          .isInstanceOf(BorrowFailure.TimedOut.class);
      assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began)).isLessThan(1_400);
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
