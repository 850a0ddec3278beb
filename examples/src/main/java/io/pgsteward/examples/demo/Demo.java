package io.pgsteward.examples.demo;

import io.pgsteward.testing.BackendCounts;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;

/**
 * Runs the demo: {@code java -jar examples/target/pgsteward-demo.jar}, with the coordinator's jar
 * built beside it. Exits with 1 if a promise was broken, with 2 if the command line is wrong.
 */
public final class Demo {

  /** A connection that was on its way in when the budget fell is still within the old budget. */
  private static final long GRACE_MILLIS = 250;

  private static final String USAGE =
      """
      Usage: java -jar examples/target/pgsteward-demo.jar [--help]

      Starts an embedded PostgreSQL, the coordinator and 15 application processes on this machine,
      tells what it does and what you should see, checks it, and ends by itself after about 1 min
      45 s. Nothing is left running and no file is left behind. It takes no settings.

      Exit codes: 0 every promise was kept, 1 one was broken, 2 wrong command line.""";

  private Demo() {}

  public static void main(String[] arguments) throws SQLException, InterruptedException {
    if (arguments.length > 0) {
      System.exit(answer(List.of(arguments)));
    }
    long start = System.nanoTime();
    Promises promises = new Promises();
    Machine machine = new Machine();
    introduce(machine);
    try (Stage stage = new Stage()) {
      new Story(stage, promises, machine).tell();
      summarise(stage, promises);
    }
    System.out.printf(
        Locale.ROOT, "   took        %.0f s%n", (System.nanoTime() - start) / 1_000_000_000.0);
    List<String> broken = promises.broken();
    if (!promises.allKept()) {
      System.out.println();
      System.out.println("BROKEN: " + broken.size() + " of " + promises.size() + " promises");
      broken.forEach(text -> System.out.println("  " + text));
      String excuse = machine.excuse();
      if (!excuse.isEmpty()) {
        System.out.println(Text.wrapped("", excuse));
      }
      System.exit(1);
    }
    System.out.println();
    System.out.println("All " + promises.size() + " promises were kept.");
  }

  private static int answer(List<String> arguments) {
    if (arguments.equals(List.of("--help")) || arguments.equals(List.of("-h"))) {
      System.out.println(USAGE);
      return 0;
    }
    System.err.println("unknown arguments: " + String.join(" ", arguments));
    System.err.println(USAGE);
    return 2;
  }

  private static void introduce(Machine machine) {
    System.out.println("PgSteward demo: one connection budget, shared by processes and tenants");
    say(
        "An embedded PostgreSQL with max_connections = "
            + Stage.maxConnections()
            + ": 3 for superusers, a margin of 3 kept free, 2 foreign connections (the"
            + " coordinator's and the witness's) leave a budget of "
            + Stage.BUDGET
            + ". No pool size is configured anywhere. Not protected here: the demo sets no role limits"
            + " in PostgreSQL, so a program that bypasses PgSteward under a managed role could"
            + " still take connections; the processes here are well-behaved members.");
    say(
        "The shares below are those of a budget of "
            + Stage.BUDGET
            + ". It may fall by itself, since a login that was given up counts as foreign for 60 s;"
            + " every share is judged by the budget in force.");
    say(machine.atStart());
    System.out.println("   The table:");
    System.out.println(LiveTable.LEGEND.indent(6).stripTrailing());
  }

  private static void say(String text) {
    System.out.println(Text.wrapped("   ", text));
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
            : above.size() + " times above, first " + above.get(0) + limitOf(stage, above));
    System.out.println("   peak        " + peak(stage));
    System.out.println("   errors      " + stage.sumOfAll(Usage::failed));
    System.out.println("   committed   " + stage.sumOfAll(Usage::committed) + " transactions");
  }

  /** The documented limit of the promise, if it explains every one of these. */
  private static String limitOf(Stage stage, List<BackendCounts.Excess> above) {
    boolean explained =
        above.stream().allMatch(excess -> stage.watch().wasOutOfTouch(excess.millis()));
    return explained
        ? " (members were in fallback or had been forgotten then: what they hold is not covered by"
            + " this promise yet, see \"What is promised\" in the README)"
        : "";
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
