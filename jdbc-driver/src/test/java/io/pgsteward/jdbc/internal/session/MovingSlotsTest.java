package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.coordination.ControlLoop;
import io.pgsteward.coordination.ControlLoopListener;
import io.pgsteward.coordination.CoordinatorSettings;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.PoolUsage;
import io.pgsteward.jdbc.internal.pool.TenantPoolSettings;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.ConnectionSource;
import io.pgsteward.postgres.PostgresLeaderSession;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import io.pgsteward.testing.Witness;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Members, their pools and one control loop on a PostgreSQL with few connections. */
@Tag("postgres")
@Timeout(180)
@ExtendWith(NoThreadsLeft.class)
class MovingSlotsTest {

  private static final long LONG = TimeUnit.SECONDS.toNanos(30);
  private static final Duration LEASE = Duration.ofSeconds(3);

  private final List<Member> members = new ArrayList<>();

  @SuppressWarnings("NullAway.Init") // by start
  private PostgresServer postgres;

  @SuppressWarnings("NullAway.Init") // by start
  private TestRole role;

  @SuppressWarnings("NullAway.Init") // by start
  private ControlLoop loop;

  @SuppressWarnings("NullAway.Init") // by start
  private Witness witness;

  @BeforeEach
  void start() throws Exception {
    postgres = TestPostgres.with("max_connections", "20").start();
    role = postgres.createRole("web");
    TestRole steward = postgres.createRoleNamed("steward", "IN ROLE pg_monitor");
    witness = Witness.watch(postgres, role.name()::equals);
    Properties login = new Properties();
    login.setProperty("user", steward.name());
    login.setProperty("password", steward.password());
    loop =
        new ControlLoop(
            new CoordinatorSettings(
                new InstanceId("main"),
                LEASE,
                LEASE.dividedBy(3),
                Duration.ofMillis(500),
                3,
                PolicyBook.builder()
                    .tenant(role.name() + "@*", TenantPolicy.DEFAULT)
                    .tenant(role.name() + "@*/batch", TenantPolicy.DEFAULT)
                    .build(),
                false,
                EnforceMode.OFF),
            new PostgresLeaderSession(
                ConnectionSource.of(postgres.url("postgres"), login, Duration.ofSeconds(5)),
                "test",
                "hash",
                LEASE,
                Ticker.system(),
                false),
            Ticker.system(),
            new ControlLoopListener() {});
    loop.start();
    Await.until("the budget is known", () -> budget() > 0);
  }

  /** What one member can have of the budget, which varies by those who look at the server. */
  private int most() {
    return budget() - 2;
  }

  private int budget() {
    return Objects.requireNonNull(loop.status().join().budget()).total();
  }

  @AfterEach
  void stop() throws Exception {
    members.forEach(Member::shutDown);
    loop.close();
    int peak = witness.countedPeak().count();
    witness.close();
    postgres.close();
    assertThat(peak)
        .as("S1: most connections at once, by the server's log")
        .isLessThanOrEqualTo(12);
  }

  private TenantAccess join(AtomicBoolean cut, String label) throws SQLException {
    Member member =
        new Member(
            MemberSettings.http("http://127.0.0.1:1", "main", null, label),
            new SessionSettings("main", label, LEASE, LEASE.dividedBy(3), Duration.ofSeconds(10)),
            id -> new LoopClient(loop, cut),
            MemberClock.system(),
            Duration.ofMinutes(1));
    members.add(member);
    TenantId tenant = new TenantId(role.name(), "postgres", label.isEmpty() ? null : label);
    Properties login = new Properties();
    login.setProperty("user", role.name());
    login.setProperty("password", role.password());
    TenantPoolSettings pool =
        TenantPoolSettings.builder(tenant.toString(), postgres.url("postgres"), login).build();
    return member.access(
        new TenantSettings(tenant, pool, 1), f -> new SQLException(f.toString()), PoolEvents.NONE);
  }

  private TenantAccess join(String label) throws SQLException {
    return join(new AtomicBoolean(), label);
  }

  private static List<Connection> borrow(TenantAccess from, int count) throws Exception {
    List<CompletableFuture<Connection>> asked = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      CompletableFuture<Connection> connection = new CompletableFuture<>();
      asked.add(connection);
      new Thread(
              () -> {
                try {
                  connection.complete(from.getConnection(LONG));
                } catch (SQLException e) {
                  connection.completeExceptionally(e);
                }
              })
          .start();
    }
    List<Connection> loans = new ArrayList<>();
    for (CompletableFuture<Connection> connection : asked) {
      loans.add(connection.get(60, TimeUnit.SECONDS));
    }
    return loans;
  }

  private static void close(List<Connection> loans) throws SQLException {
    for (Connection loan : loans) {
      loan.close();
    }
  }

  private static PoolUsage usage(TenantAccess access) {
    return Objects.requireNonNull(access.usage());
  }

  @Test
  void one_member_alone_gets_the_budget() throws Exception {
    TenantAccess web = join("");
    int most = most();
    List<Connection> loans = borrow(web, most);
    assertThat(usage(web).open()).isEqualTo(most);
    close(loans);
  }

  @Test
  void idle_slots_of_one_member_move_to_another_that_waits() throws Exception {
    TenantAccess one = join("");
    close(borrow(one, most()));
    TenantAccess two = join("batch");

    List<Connection> loans = borrow(two, 3);

    assertThat(usage(two).open()).isEqualTo(3);
    close(loans);
  }

  @Test
  void slots_in_use_move_as_they_come_back() throws Exception {
    TenantAccess one = join("");
    List<Connection> busy = borrow(one, most());
    TenantAccess two = join("batch");
    CompletableFuture<List<Connection>> waiting =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return borrow(two, 4);
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            });
    Await.until("two waits", () -> two.usage() != null && usage(two).waiting() >= 2);
    assertThat(waiting).isNotDone();

    close(busy);

    close(waiting.get(60, TimeUnit.SECONDS));
  }

  @Test
  void load_on_three_members_never_passes_the_budget_and_everybody_gets_on() throws Exception {
    List<TenantAccess> all = List.of(join(""), join(""), join("batch"));
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger failed = new AtomicInteger();
    List<AtomicInteger> done =
        List.of(new AtomicInteger(), new AtomicInteger(), new AtomicInteger());
    List<Thread> threads = new ArrayList<>();
    for (int m = 0; m < 3; m++) {
      for (int t = 0; t < 8; t++) {
        int index = m;
        Thread thread =
            new Thread(
                () -> {
                  while (!stop.get()) {
                    try (Connection connection = all.get(index).getConnection(LONG)) {
                      connection.createStatement().execute("SELECT pg_sleep(0.002)");
                      done.get(index).incrementAndGet();
                    } catch (SQLException e) {
                      failed.incrementAndGet();
                    }
                  }
                });
        thread.start();
        threads.add(thread);
      }
    }
    for (AtomicInteger count : done) {
      Await.until("everybody gets on", Duration.ofSeconds(60), () -> count.get() > 500);
    }
    stop.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failed).hasValue(0);
  }

  @Test
  void a_member_cut_off_keeps_its_grant_while_it_has_connections_and_loses_it_without()
      throws Exception {
    AtomicBoolean cut = new AtomicBoolean();
    TenantAccess one = join(cut, "");
    List<Connection> loans = borrow(one, 5);
    cut.set(true);
    Member member = members.get(0);
    Await.until("fallback", () -> member.coordinatorState().phase() == MemberPhase.FALLBACK);
    assertThat(usage(one).limit()).isGreaterThanOrEqualTo(5);
    close(loans);
    try (Connection again = one.getConnection(LONG)) {
      assertThat(again.isValid(5)).isTrue();
    }
    cut.set(false);
    Await.until("heard again", () -> member.coordinatorState().phase() == MemberPhase.GRANTED);
  }

  @Test
  void a_loop_that_ends_leaves_members_their_grants() throws Exception {
    TenantAccess one = join("");
    List<Connection> loans = borrow(one, 4);
    loop.close();
    Await.until(
        "fallback",
        Duration.ofSeconds(30),
        () -> members.get(0).coordinatorState().phase() == MemberPhase.FALLBACK);
    close(loans);
    loans = borrow(one, 4);
    close(loans);
    TenantAccess late = join("batch");
    try (Connection first = late.getConnection(LONG)) {
      assertThat(first.isValid(5)).isTrue();
      assertThatThrownBy(() -> late.getConnection(TimeUnit.MILLISECONDS.toNanos(200)))
          .as("fallbackSlots is 1")
          .hasMessageContaining("TimedOut");
    }
  }
}
