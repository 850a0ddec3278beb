package io.pgsteward.server;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.Observation;
import io.pgsteward.postgres.Visit;
import io.pgsteward.protocol.Json;
import io.pgsteward.server.LimitReconciler.Outcome;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Shows what {@link ApplyCommand} would do. */
@Command(
    name = "plan",
    description = {
      "Shows how the connection limits of managed roles differ from what they should be for what"
          + " PostgreSQL shows now, and changes nothing. Exit code 4 if something differs."
    },
    mixinStandardHelpOptions = true)
final class PlanCommand extends InstanceCommand {

  @Option(names = "--json", description = "print JSON instead of a table")
  private boolean json;

  private final List<Map<String, Object>> plans = new ArrayList<>();

  @Override
  ExitCode run(Instance instance) throws SQLException {
    if (instance.config().enforcement() == EnforceMode.OFF) {
      plans.add(new LinkedHashMap<>(Map.of("instance", instance.config().id().value())));
      if (!json) {
        instance.say("enforce is off: limits are left alone");
      }
      return ExitCode.OK;
    }
    Observation look;
    try (Visit visit = instance.visit()) {
      look = visit.observe();
    }
    Sight sight = Sight.of(instance.config(), look);
    AtomicLong time = new AtomicLong();
    Ticker ticker = time::incrementAndGet;
    Outcome outcome =
        new LimitReconciler(instance.config(), new Rehearsal(look, ticker), ticker).run();
    Map<String, Integer> changed = outcome.last().limits();
    Table table = table(sight, changed);
    long differing =
        sight.limits().entrySet().stream()
            .filter(e -> !e.getValue().equals(changed.get(e.getKey())))
            .count();
    if (json) {
      plans.add(asMap(instance, sight, table, differing));
    } else {
      instance.say(sight.budgetInWords());
      table.print(instance.out());
      instance.say(differing + " of " + sight.limits().size() + " limits would change");
      sight.obstacles().forEach(obstacle -> instance.say("apply would fail: " + obstacle));
    }
    return differing == 0 ? ExitCode.OK : ExitCode.WOULD_CHANGE;
  }

  private static Table table(Sight sight, Map<String, Integer> planned) {
    Table table = new Table("role", "limit", "planned", "connections", "guarantee");
    sight
        .limits()
        .forEach(
            (role, limit) ->
                table.row(
                    role,
                    limit < 0 ? null : limit,
                    planned.get(role),
                    sight.seen().getOrDefault(role, 0),
                    sight.guarantee(role)));
    return table;
  }

  private static Map<String, Object> asMap(
      Instance instance, Sight sight, Table table, long differing) {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("instance", instance.config().id().value());
    map.put("budget", sight.budget().total());
    map.put("changes", differing);
    map.put("roles", table.values());
    map.put("obstacles", sight.obstacles());
    return map;
  }

  @Override
  void finish(PrintWriter out) {
    if (json) {
      out.println(new String(Json.write(plans), StandardCharsets.UTF_8));
    }
  }
}
