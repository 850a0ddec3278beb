package io.pgsteward.examples.demo;

import io.pgsteward.testing.BackendCounts;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;

/**
 * Runs the demo: {@code java -jar examples/target/pgsteward-demo.jar}, with the coordinator's jar
 * built beside it. Exits with 1 if a promise was broken.
 */
public final class Demo {

  /** A connection that was on its way in when the budget fell is still within the old budget. */
  private static final long GRACE_MILLIS = 250;

  private Demo() {}

  public static void main(String[] arguments) throws SQLException, InterruptedException {
    long start = System.nanoTime();
    Promises promises = new Promises();
    introduce();
    try (Stage stage = new Stage()) {
      new Story(stage, promises).tell();
      summarise(stage, promises);
    }
    System.out.printf(
        Locale.ROOT, "   took        %.0f s%n", (System.nanoTime() - start) / 1_000_000_000.0);
    List<String> broken = promises.broken();
    if (!promises.allKept()) {
      System.out.println();
      System.out.println("BROKEN: " + broken.size() + " of " + promises.size() + " promises");
      broken.forEach(text -> System.out.println("  " + text));
      System.exit(1);
    }
    System.out.println();
    System.out.println("All " + promises.size() + " promises were kept.");
  }

  private static void introduce() {
    System.out.println("PgSteward demo: one connection budget, shared by processes and tenants");
    System.out.println(
        Text.wrapped(
            "   ",
            "An embedded PostgreSQL with max_connections = "
                + Stage.maxConnections()
                + ": 3 for superusers, a margin of 3 kept free, 2 foreign connections (the"
                + " coordinator's and the witness's) leave a budget of "
                + Stage.BUDGET
                + ". No pool size is configured anywhere. Not yet protected: role limits in"
                + " PostgreSQL come later, so a program that bypasses PgSteward under a managed role"
                + " could still take connections; the processes here are well-behaved members."));
  }

  private static void summarise(Stage stage, Promises promises) {
    stage.watch().close();
    BackendCounts counted = stage.witness().counted();
    List<BackendCounts.Excess> above = counted.above(stage.watch().budget(), GRACE_MILLIS);
    System.out.println();
    System.out.println("== Summary");
    promises.check(
        "never more connections than the budget in force",
        above.isEmpty(),
        above.isEmpty()
            ? "each of "
                + counted.begun(Long.MIN_VALUE, Long.MAX_VALUE)
                + " connections in the server's own log was judged"
            : above.size() + " times above, first " + above.get(0));
    System.out.println("   peak        " + peak(stage));
    System.out.println("   errors      " + stage.sumOfAll(Usage::failed));
    System.out.println("   committed   " + stage.sumOfAll(Usage::committed) + " transactions");
  }

  private static String peak(Stage stage) {
    return stage.witness().countedPeak().count()
        + " connections of ours by the server's connection log, "
        + stage.witness().sampledPeak().count()
        + " in "
        + stage.witness().sampler().samples().size()
        + " looks at pg_stat_activity, one every 20 ms";
  }
}
