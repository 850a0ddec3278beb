package io.pgsteward.server;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.Visit;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;

/** Finds what keeps a configuration and its servers from working together. */
@Command(
    name = "check",
    description = {
      "Checks the configuration against its servers and changes nothing: they can be reached, the"
          + " rights are there, every login role is managed or foreign, and the guarantees fit the"
          + " budget. One line for each finding; exit code 1 if there is any."
    },
    mixinStandardHelpOptions = true)
final class CheckCommand extends InstanceCommand {

  @Override
  ExitCode run(Instance instance) throws SQLException {
    try (Visit visit = instance.visit()) {
      Sight sight = Sight.of(instance.config(), visit.observe());
      List<String> findings = findings(instance, sight);
      findings.forEach(instance::say);
      if (findings.isEmpty()) {
        instance.say(
            "nothing found: PostgreSQL "
                + visit.version()
                + ", "
                + sight.limits().size()
                + " managed roles, "
                + sight.budgetInWords());
      }
      return findings.isEmpty() ? ExitCode.OK : ExitCode.FAILED;
    }
  }

  private static List<String> findings(Instance instance, Sight sight) {
    List<String> findings = new ArrayList<>();
    if (!sight.look().complete()) {
      findings.add(
          "the coordinator's role is not in pg_monitor, so PostgreSQL hides what kind connections"
              + " are and background processes count as foreign");
    }
    if (instance.config().enforcement() != EnforceMode.OFF) {
      findings.addAll(sight.obstacles());
    } else {
      sight.obstacles().stream().filter(o -> o.contains("is a superuser")).forEach(findings::add);
    }
    PolicyBook policies = instance.config().policies();
    for (LoginRole role : sight.roles().all()) {
      if (isUnclassified(policies, role, instance.config().user())) {
        findings.add(
            "role "
                + Table.printable(role.name())
                + " can log in and is neither managed nor foreign; enter a tenant of it or declare"
                + " it foreign");
      }
    }
    int guaranteed = sight.guarantees().values().stream().mapToInt(Integer::intValue).sum();
    if (guaranteed > sight.budget().total()) {
      findings.add(
          "the guarantees add up to "
              + guaranteed
              + " ("
              + sight.guarantees().entrySet().stream()
                  .map(e -> Table.printable(e.getKey()) + " " + e.getValue())
                  .collect(Collectors.joining(", "))
              + "), more than the "
              + sight.budgetInWords());
    }
    return findings;
  }

  private static boolean isUnclassified(PolicyBook policies, LoginRole role, String own) {
    return !role.superuser()
        && !role.name().equals(own)
        && !policies.manages(role.name(), false)
        && !policies.declaresForeign(role.name());
  }
}
