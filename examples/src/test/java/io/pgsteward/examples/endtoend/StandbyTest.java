package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import io.pgsteward.testing.Witness;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two coordinators of one configuration: the one that leads is killed, or stopped and woken. */
@Tag("postgres")
@Timeout(240)
class StandbyTest {

  private static final int BUDGET = 12;

  /** Both coordinators' sessions, the witness's, margin and reserved places. */
  private static final int BESIDES = 3 + 3 + 3;

  private static final Duration LIMIT = Duration.ofSeconds(60);

  private PostgresServer postgres;
  private TestRole web;
  private String database;
  private Witness witness;
  private CoordinatorProcess first;
  private CoordinatorProcess second;
  private final List<BorrowerProcess> borrowers = new ArrayList<>();

  @BeforeEach
  void one_leads_and_one_stands_by_under_load() throws Exception {
    postgres =
        TestPostgres.with("max_connections", Integer.toString(BUDGET + BESIDES))
            .and("superuser_reserved_connections", "3")
            .start();
    web = postgres.createRole("web");
    database = postgres.createDatabase("shop");
    witness = Witness.watch(postgres, web.name()::equals);
    CoordinatorSetup setup =
        CoordinatorSetup.of(postgres)
            .lease("3s")
            .margin(3)
            .tenant(web.name() + "@" + database, "{ guarantee: 1 }");
    first = setup.start();
    first.awaitReady();
    second = setup.start();
    awaitStatus(second, status -> first.url().endsWith(String.valueOf(status.leader())));
    assertThat(second.process().output())
        .filteredOn(line -> line.contains("STANDBY"))
        .singleElement()
        .asString()
        .contains(
            "INFO ", "main: STANDBY: coordinator " + first.url().substring("http://".length()));
    borrower(8, first, second);
    borrower(2, first, second);
    Await.until("both hold what they can use", LIMIT, () -> witness.sampledNow() == 10);
    awaitStatus(first, status -> status.granted() == 10);
  }

  @AfterEach
  void end() throws SQLException {
    borrowers.forEach(BorrowerProcess::close);
    second.close();
    first.close();
    witness.close();
    postgres.close();
  }

  @Test
  void a_leader_that_is_killed_is_replaced() throws Exception {
    long killed = System.nanoTime();
    first.kill();
    takesOver("SIGKILL", killed);
    nobodyFailedAndTheBudgetKept();
    assertThat(witness.sessions())
        .filteredOn(session -> session.role().equals(web.name()))
        .as("connections of members that have ended")
        .noneMatch(session -> session.endMillis() != Long.MAX_VALUE);
  }

  @Test
  void a_leader_that_is_stopped_is_replaced_and_grants_nothing_when_it_wakes() throws Exception {
    long epoch = first.instance().epoch();
    long stopped = System.nanoTime();
    first.process().freeze();
    takesOver("SIGSTOP", stopped);

    first.process().thaw();
    awaitStatus(first, status -> status.phase() == CoordinatorPhase.STANDBY);
    InstanceStatus woken = first.instance();
    InstanceStatus leading = second.instance();
    assertThat(second.url()).endsWith(String.valueOf(woken.leader()));
    assertThat(woken.granted()).isZero();
    assertThat(leading.epoch()).isGreaterThan(epoch);
    assertThat(leading.members()).hasSize(3);
    nobodyFailedAndTheBudgetKept();

    second.kill();
    awaitStatus(first, status -> status.phase() == CoordinatorPhase.SERVING);
    awaitStatus(first, status -> status.members().size() == 3 && status.granted() == BUDGET);
    assertThat(first.instance().epoch()).isGreaterThan(leading.epoch());
    nobodyFailedAndTheBudgetKept();
  }

  /** Somebody new gets what is left of the budget, which only a coordinator can grant. */
  private void takesOver(String signal, long since) throws Exception {
    awaitStatus(second, status -> status.phase() == CoordinatorPhase.LEARNING);
    long detected = System.nanoTime();
    borrower(2, second, first);
    awaitStatus(second, status -> status.phase() == CoordinatorPhase.SERVING);
    long serves = System.nanoTime();
    awaitStatus(second, status -> status.granted() == BUDGET);
    System.out.printf(
        "%s, lease 3000 ms: the standby led after %d ms, served %d ms later, and had granted to a"
            + " newcomer, whose JVM started meanwhile, %d ms later%n",
        signal,
        millis(detected - since),
        millis(serves - detected),
        millis(System.nanoTime() - detected));
    Await.until("all of the budget is in use", LIMIT, () -> witness.sampledNow() == BUDGET);
    assertThat(second.instance().members()).hasSize(3);
  }

  private static long millis(long nanos) {
    return nanos / 1_000_000;
  }

  private void nobodyFailedAndTheBudgetKept() {
    assertThat(borrowers).allSatisfy(one -> assertThat(one.last().failed()).isZero());
    assertThat(witness.countedPeak().count()).isLessThanOrEqualTo(BUDGET);
  }

  private void borrower(int threads, CoordinatorProcess asked, CoordinatorProcess then) {
    borrowers.add(
        new BorrowerProcess(
            "borrower-" + (borrowers.size() + 1),
            List.of(
                "jdbc:pgsteward://127.0.0.1:" + postgres.port() + "/" + database,
                web.name(),
                web.password(),
                asked.url() + "," + then.url(),
                "0",
                Integer.toString(threads),
                "20")));
  }

  private static void awaitStatus(CoordinatorProcess of, Predicate<InstanceStatus> isSo)
      throws InterruptedException {
    InstanceStatus[] last = {null};
    try {
      Await.until(
          "the status of " + of.url(),
          LIMIT,
          () -> {
            try {
              last[0] = of.instance();
              return isSo.test(last[0]);
            } catch (IOException notYet) {
              return false;
            }
          });
    } catch (AssertionError e) {
      throw new AssertionError(
          e.getMessage() + ", last " + last[0] + "\n" + of.process().tail(), e);
    }
  }
}
