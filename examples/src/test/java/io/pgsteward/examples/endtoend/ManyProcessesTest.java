package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.Await;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** More processes than slots, and none of them may help itself without a grant. */
@Tag("postgres")
class ManyProcessesTest {

  private static final int BUDGET = 12;
  private static final int PROCESSES = 16;
  private static final int LOAD_MILLIS = 12_000;
  private static final Duration HANG = Duration.ofMillis(LOAD_MILLIS).minusSeconds(1);

  @Test
  void sixteen_processes_on_twelve_slots_are_all_served_and_never_hold_more() throws Exception {
    try (Rig rig = new Rig(BUDGET)) {
      rig.startBorrowers(PROCESSES, 2, 50, 0);
      Await.until(
          "each of " + PROCESSES + " processes was served",
          Duration.ofSeconds(90),
          () -> rig.borrowers.stream().allMatch(borrower -> borrower.last().served() > 0));
      long first = longestWaitMillis(rig);
      rig.borrowers.forEach(BorrowerProcess::forget);
      Thread.sleep(LOAD_MILLIS);
      rig.borrowers.forEach(BorrowerProcess::askToEnd);
      rig.borrowers.forEach(borrower -> assertThat(borrower.end()).isZero());

      long longest = longestWaitMillis(rig);
      System.out.printf(
          "%d processes on %d slots, transactions of 50 ms: longest wait of any %d ms (%d ms"
              + " while 16 JVMs started), %d served,"
              + " peak %s by the server's log, %s sampled%n",
          PROCESSES,
          BUDGET,
          longest,
          first,
          rig.served(),
          rig.witness.countedPeak(),
          rig.witness.sampledPeak());
      assertThat(rig.failed()).isZero();
      assertThat(rig.witness.countedPeak().count()).isEqualTo(BUDGET);
      assertThat(rig.witness.sampledPeak().count()).isLessThanOrEqualTo(BUDGET);
      // The figure is printed; a starved process would wait for as long as the load lasts.
      assertThat(Duration.ofMillis(longest)).as("nobody starves").isLessThan(HANG);
    }
  }

  private static long longestWaitMillis(Rig rig) {
    return rig.borrowers.stream()
            .mapToLong(borrower -> borrower.last().longestWaitMicros())
            .max()
            .orElse(0)
        / 1000;
  }
}
