package io.pgsteward.server;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.Observation;
import io.pgsteward.server.LimitReconciler.Outcome;
import java.sql.SQLException;
import java.util.Map;
import picocli.CommandLine.Command;

/** Sets the limits that {@link PlanCommand} shows. */
@Command(
    name = "apply",
    description = {
      "Sets the connection limits of managed roles to what plan shows: lowers first, looks, and"
          + " raises as far as the budget then allows. Not while a coordinator leads: that one"
          + " keeps the limits itself (exit code 3)."
    },
    mixinStandardHelpOptions = true)
final class ApplyCommand extends InstanceCommand {

  @Override
  ExitCode run(Instance instance) throws SQLException {
    if (instance.config().enforcement() == EnforceMode.OFF) {
      instance.say("enforce is off: limits are left alone");
      return ExitCode.OK;
    }
    try (LeaderSession session = instance.leaderSession("apply")) {
      return apply(instance, session);
    }
  }

  static ExitCode apply(Instance instance, LeaderSession session) throws SQLException {
    session.lead();
    Outcome outcome =
        new LimitReconciler(instance.config(), target(session), Ticker.system()).run();
    if (!outcome.obstacles().isEmpty()) {
      outcome.obstacles().forEach(instance::say);
      return ExitCode.FAILED;
    }
    Map<String, Integer> before = outcome.first().limits();
    outcome
        .changed()
        .forEach(
            (role, limit) ->
                instance.say(
                    "role "
                        + Table.printable(role)
                        + ": limit "
                        + (before.getOrDefault(role, -1) < 0 ? "none" : before.get(role))
                        + " -> "
                        + limit));
    outcome
        .otherHand()
        .forEach(
            role ->
                instance.say(
                    "role " + Table.printable(role) + ": its limit was changed by another hand"));
    instance.say(
        (outcome.changed().isEmpty()
                ? "nothing to change"
                : outcome.changed().size() + " limits set")
            + ", limits add up to "
            + outcome.last().sum()
            + ", "
            + outcome.last().budgetInWords());
    if (!outcome.settled()) {
      instance.say("connections come and go, so more is left to change; run it again");
      return ExitCode.WOULD_CHANGE;
    }
    return ExitCode.OK;
  }

  private static LimitReconciler.Target target(LeaderSession session) {
    return new LimitReconciler.Target() {
      @Override
      public Observation look() throws SQLException {
        return session.observe();
      }

      @Override
      public void set(Map<String, Integer> limits) throws SQLException {
        session.setLimits(limits);
      }
    };
  }
}
