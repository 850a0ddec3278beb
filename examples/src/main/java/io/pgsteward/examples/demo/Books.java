package io.pgsteward.examples.demo;

import java.sql.SQLException;
import java.util.Map;

/**
 * What the applications say they have committed beside what the tables hold.
 *
 * @param counted transactions that the applications counted
 * @param booked rows of the history
 * @param different processes whose figures differ; one that was killed may have committed up to one
 *     transaction per thread, and a few more since its last report, that it could not count
 * @param balanced whether branches, tellers, accounts and history agree
 */
record Books(long counted, long booked, long different, boolean balanced) {

  static Books compare(Stage stage) throws SQLException {
    Map<String, Long> booked = Bank.booked(stage.postgres());
    long different =
        stage.applications().stream().filter(application -> !agrees(application, booked)).count();
    return new Books(
        stage.sumOfAll(Usage::committed),
        booked.values().stream().mapToLong(Long::longValue).sum(),
        different,
        Bank.balances(stage.postgres()));
  }

  private static boolean agrees(Application application, Map<String, Long> booked) {
    long counted = application.usage().committed();
    long rows = booked.getOrDefault(application.name(), 0L);
    return application.killed() ? rows >= counted : rows == counted;
  }

  boolean agree() {
    return different == 0 && balanced;
  }

  @Override
  public String toString() {
    return counted
        + " counted by the processes, "
        + booked
        + " booked (those of the killed process since its last word included), "
        + (balanced ? "all balances agree" : "the balances differ")
        + (different == 0 ? "" : ", " + different + " processes differ");
  }
}
