package io.pgsteward.server;

import io.pgsteward.postgres.PostgresLeaderSession;
import java.sql.SQLException;
import java.util.Map;
import picocli.CommandLine.Command;

/** Gives every role the limit back that it had before the first change. */
@Command(
    name = "release",
    description = {
      "Puts back the connection limits that roles had before the first change, and forgets them."
          + " Not while a coordinator leads (exit code 3): stop it first."
    },
    mixinStandardHelpOptions = true)
final class ReleaseCommand extends InstanceCommand {

  @Override
  ExitCode run(Instance instance) throws SQLException {
    try (PostgresLeaderSession session = instance.leaderSession("release")) {
      session.lead();
      Map<String, Integer> released = session.releaseLimits();
      released.forEach(
          (role, limit) ->
              instance.say(
                  "role "
                      + Table.printable(role)
                      + ": limit "
                      + (limit < 0 ? "none" : limit)
                      + " put back"));
      if (released.isEmpty()) {
        instance.say("no limit was changed, so none is put back");
      }
      return ExitCode.OK;
    }
  }
}
