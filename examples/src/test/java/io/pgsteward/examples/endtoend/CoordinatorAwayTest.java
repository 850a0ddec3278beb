package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.testing.Await;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The coordinator is killed under full load and comes back. */
@Tag("postgres")
class CoordinatorAwayTest {

  private static final int BUDGET = 20;
  private static final int MEASURED_MILLIS = 4_000;
  private static final int SETTLED_MILLIS = 1_000;

  @Test
  void no_borrower_fails_and_no_connection_ends_while_it_is_away_and_learns() throws Exception {
    try (Rig rig = new Rig(BUDGET)) {
      rig.startBorrowers(2, 15, 20, 2);
      Await.until(
          "all slots are in use",
          Duration.ofSeconds(60),
          () -> rig.witness.sampledNow() == BUDGET && rig.served() > 1_000);
      double before = rig.throughput(MEASURED_MILLIS);

      rig.coordinator.kill();
      // A slot that was on its way to the other process when it died still goes.
      long settled = System.currentTimeMillis() + SETTLED_MILLIS;
      double without = rig.throughput(MEASURED_MILLIS);

      rig.coordinator.startAgain();
      rig.coordinator.awaitReady();
      double learning = rig.throughput(1_000);
      long stillLearning = System.currentTimeMillis();
      assertThat(rig.coordinator.instance().phase()).isEqualTo(CoordinatorPhase.LEARNING);
      Await.until("it serves again", () -> serves(rig));
      double after = rig.throughput(MEASURED_MILLIS);
      System.out.printf(
          "transactions/s: %.0f with the coordinator, %.0f without (%+.1f %%), %.0f while it"
              + " learned, %.0f after%n",
          before, without, 100 * (without / before - 1), learning, after);

      assertThat(rig.failed()).isZero();
      assertThat(rig.witness.sessions())
          .filteredOn(session -> session.role().equals(rig.web.name()))
          .noneMatch(
              session -> session.endMillis() >= settled && session.endMillis() <= stillLearning);
      assertThat(rig.witness.countedPeak().count()).isEqualTo(BUDGET);
      assertThat(without).as("half of it at the very least").isGreaterThan(before / 2);
    }
  }

  private static boolean serves(Rig rig) {
    try {
      return rig.coordinator.instance().phase() == CoordinatorPhase.SERVING;
    } catch (IOException e) {
      throw new AssertionError("the coordinator does not answer", e);
    }
  }
}
