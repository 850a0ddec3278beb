package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.protocol.StatusResponse.BudgetStatus;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.Seeds;
import io.pgsteward.testing.Witness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The budget under role limits while everything around it moves. */
@Tag("postgres")
@ExtendWith(Seeds.class)
@SuppressWarnings("NullAway.Init") // by each test
class EnforcedBudgetTest {

  /** How long demand rotates; the whole run is 180. */
  private static final int ROTATION_SECONDS = Integer.getInteger("pgsteward.rotation.seconds", 15);

  private static final String TOO_MANY_CONNECTIONS = "53300";

  private EnforcedRig rig;
  private final List<Thread> threads = new ArrayList<>();
  private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
  private final AtomicLong served = new AtomicLong();
  private volatile boolean ending;

  @AfterEach
  void stop() throws Exception {
    end();
    rig.close();
  }

  private void end() throws InterruptedException {
    ending = true;
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(60));
      assertThat(thread.isAlive()).as(thread.getName() + " has ended").isFalse();
    }
  }

  private interface Step {
    void run() throws Exception;
  }

  /** Repeats a step on a thread of its own until the test ends. */
  private void repeat(String name, Step step) {
    Thread thread =
        new Thread(
            () -> {
              while (!ending) {
                try {
                  step.run();
                } catch (Exception e) {
                  failures.add(name + ": " + e);
                }
              }
            },
            name);
    threads.add(thread);
    thread.start();
  }

  /** One transaction; only a borrow that fails is a failure of the pool. */
  private void transaction(PgStewardDataSource pool, int millis) throws SQLException {
    try (Connection connection = pool.getConnection()) {
      try (Statement statement = connection.createStatement()) {
        statement.execute("SELECT pg_sleep(" + millis / 1000.0 + ")");
        served.incrementAndGet();
      } catch (SQLException e) {
        if (!String.valueOf(e.getSQLState()).startsWith("57")
            && !String.valueOf(e.getSQLState()).startsWith("08")) {
          throw e;
        }
      }
    }
  }

  private static Map<String, String> server(int maxConnections, int reserved) {
    return Map.of(
        "max_connections", Integer.toString(maxConnections),
        "superuser_reserved_connections", "3",
        "reserved_connections", Integer.toString(reserved));
  }

  @Test
  void limits_and_backends_stay_within_it_while_demand_rotates_and_strays_log_in(Random random)
      throws Exception {
    int budget = 18;
    List<String> tenants = List.of("a", "b", "c");
    // Reserved 3, margin 3, and one more foreign session: the witness's.
    rig =
        new EnforcedRig(
            server(budget + 3 + 3 + EnforcedRig.FOREIGN + 1, 0),
            3,
            Map.of("a", "{ guarantee: 4 }", "b", "{ guarantee: 4 }", "c", "{ guarantee: 4 }"));
    Await.until("adoption", () -> tenants.stream().allMatch(one -> rig.limit(one) >= 0));
    AtomicInteger busy = new AtomicInteger();
    AtomicInteger admitted = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    AtomicInteger largestSum = new AtomicInteger();
    try (Witness witness = Witness.watch(rig.postgres, rig::manages)) {
      for (int t = 0; t < tenants.size(); t++) {
        int tenant = t;
        for (int m = 0; m < 2; m++) {
          PgStewardDataSource pool = rig.dataSource(tenants.get(t), "member-" + t + m);
          for (int i = 0; i < 8; i++) {
            boolean always = i == 0;
            repeat(
                "worker-" + t + m + i,
                () -> {
                  if (always || busy.get() == tenant) {
                    transaction(pool, 10);
                  }
                  TimeUnit.MILLISECONDS.sleep(always ? 50 : 5);
                });
          }
        }
      }
      repeat(
          "rotation",
          () -> {
            TimeUnit.SECONDS.sleep(5);
            busy.set((busy.get() + 1) % tenants.size());
          });
      Random strays = new Random(random.nextLong());
      repeat(
          "strays",
          () -> {
            TimeUnit.MILLISECONDS.sleep(strays.nextInt(50, 300));
            try (Connection stray = rig.stray(tenants.get(strays.nextInt(tenants.size())))) {
              admitted.incrementAndGet();
              TimeUnit.MILLISECONDS.sleep(strays.nextInt(100, 500));
              assertThat(stray.isClosed()).isFalse();
            } catch (SQLException e) {
              if (!TOO_MANY_CONNECTIONS.equals(e.getSQLState())) {
                throw e;
              }
              refused.incrementAndGet();
            }
          });
      Random joins = new Random(random.nextLong());
      repeat(
          "joins",
          () -> {
            String tenant = tenants.get(joins.nextInt(tenants.size()));
            try (PgStewardDataSource pool =
                rig.dataSource(tenant, "visitor-" + joins.nextInt(1_000_000))) {
              for (int i = 0; i < 20 && !ending; i++) {
                transaction(pool, 10);
              }
            }
            TimeUnit.MILLISECONDS.sleep(joins.nextInt(200, 2_000));
          });
      String limits =
          "SELECT sum(CASE WHEN rolconnlimit < 0 THEN 1000 ELSE rolconnlimit END) FROM pg_roles"
              + " WHERE rolname IN ('"
              + String.join("','", tenants.stream().map(one -> rig.role(one).name()).toList())
              + "')";
      repeat(
          "limits",
          () -> {
            largestSum.accumulateAndGet(rig.number(limits), Math::max);
            TimeUnit.MILLISECONDS.sleep(20);
          });
      TimeUnit.SECONDS.sleep(ROTATION_SECONDS);
      end();
      System.out.printf(
          "%d s: %d transactions, strays %d in and %d refused, largest sum of limits %d, peak of"
              + " backends %d by the log and %d by samples, budget %d%n",
          ROTATION_SECONDS,
          served.get(),
          admitted.get(),
          refused.get(),
          largestSum.get(),
          witness.countedPeak().count(),
          witness.sampledPeak().count(),
          budget);
      assertThat(failures).isEmpty();
      assertThat(largestSum).hasValueLessThanOrEqualTo(budget);
      assertThat(witness.countedPeak().count()).isLessThanOrEqualTo(budget);
      assertThat(witness.sampledPeak().count()).isLessThanOrEqualTo(budget);
      assertThat(served).hasPositiveValue();
      assertThat(admitted).hasPositiveValue();
    }
  }

  @Test
  void it_follows_max_connections_over_restarts_of_postgresql() throws Exception {
    // Superusers' 3, reserved 2 by which the coordinator comes back to a full server, a margin of
    // 1.
    int taken = 3 + 2 + 1 + EnforcedRig.FOREIGN;
    rig = new EnforcedRig(server(27 + taken, 2), 1, Map.of("web", "{ guarantee: 4 }"));
    PgStewardDataSource pool = rig.dataSource("web", "web");
    for (int i = 0; i < 45; i++) {
      repeat("worker-" + i, () -> transaction(pool, 5));
    }
    Await.until("all of 27", () -> rig.backends("web") == 27);

    rig.restart(server(17 + taken, 2));

    Await.until("it fits", () -> isFull("web", 17));

    rig.restart(server(37 + taken, 2));

    Await.until("it will grow after a minute of looks", () -> plannedBudget() >= 37 - 4);
    if (ROTATION_SECONDS >= 60) {
      Await.until("it grows", Duration.ofSeconds(70), () -> isFull("web", 37));
    }
    end();
    assertThat(failures).isEmpty();
  }

  /** With what a coordinator holds back that has not yet looked for a whole minute. */
  private int plannedBudget() {
    try {
      BudgetStatus budget = rig.coordinator.instance().budget();
      return budget == null ? 0 : budget.total() + budget.heldBack();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Less what sessions that began and ended with the restart count for a minute as foreign. */
  private boolean isFull(String tenant, int budget) {
    int limit = rig.limit(tenant);
    return limit <= budget && limit >= budget - 4 && rig.backends(tenant) == limit;
  }

  @Test
  void visitors_within_the_margin_get_in_while_all_of_it_is_granted() throws Exception {
    int margin = 8;
    rig =
        new EnforcedRig(
            server(12 + 3 + margin + EnforcedRig.FOREIGN, 0),
            margin,
            Map.of("web", "{ guarantee: 4 }"));
    PgStewardDataSource pool = rig.dataSource("web", "web");
    for (int i = 0; i < 16; i++) {
      repeat("worker-" + i, () -> transaction(pool, 20));
    }
    Await.until("all of 12", () -> rig.backends("web") == 12);
    rig.administer("CREATE ROLE visitor LOGIN PASSWORD 'visitor'");
    for (int i = 0; i < margin; i++) {
      rig.opened(DriverManager.getConnection(rig.postgres.url("postgres"), "visitor", "visitor"));
    }
    Await.until("they count", () -> rig.limit("web") == 4 && rig.backends("web") == 4);
    end();
    assertThat(failures).isEmpty();
  }
}
