package io.pgsteward.server;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.ConnectionSource;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.SetupSql;
import io.pgsteward.postgres.Visit;
import io.pgsteward.server.config.ConfigException;
import io.pgsteward.server.config.InstanceConfig;
import io.pgsteward.server.config.ServerConfig;
import java.io.PrintWriter;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Prints the SQL that gives a coordinator its rights, or takes them back. */
@Command(
    name = "setup-sql",
    description = {
      "Prints the SQL that lets the coordinator set connection limits, for a superuser to read and"
          + " to run in the database of the instance's url. Connects only to ask for the server's"
          + " version and roles."
    },
    mixinStandardHelpOptions = true)
final class SetupSqlCommand implements Callable<Integer> {

  private static final int OLDEST = 13;

  @Mixin
  @SuppressWarnings("NullAway.Init")
  private ConfigOption config;

  @Option(
      names = "--create-role",
      description = "by CREATEROLE instead of functions; the SQL says what that costs")
  private boolean createRole;

  @Option(names = "--undo", description = "take everything back; run release before it")
  private boolean undo;

  @Option(
      names = "--server-version",
      paramLabel = "N",
      description = "the server's major version; with it nothing is connected to")
  private @Nullable Integer serverVersion;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  @Override
  public Integer call() throws ConfigException, CommandException {
    ServerConfig loaded = config.load();
    InstanceConfig instance = config.single(loaded);
    PrintWriter out = spec.commandLine().getOut();
    if (serverVersion == null) {
      print(instance, loaded.lease().dividedBy(3), out);
    } else if (serverVersion < OLDEST) {
      throw new CommandException(
          ExitCode.WRONG_CONFIG, "PostgreSQL " + OLDEST + " or later is needed", null);
    } else {
      if (createRole || undo) {
        out.println("-- Made without a connection: roles that patterns match are not in it.");
      }
      out.print(sql(instance, serverVersion, instance.policies().managedRoles().named()));
    }
    out.flush();
    return ExitCode.OK.code();
  }

  private void print(InstanceConfig instance, Duration deadline, PrintWriter out)
      throws CommandException {
    ConnectionSource source = ConnectionSource.of(instance.url(), instance.credentials(), deadline);
    try (Visit visit = Visit.open(source, deadline, Ticker.system())) {
      PolicyBook policies = instance.policies();
      List<String> managed =
          Sight.of(instance, visit.observe()).roles().all().stream()
              .filter(role -> !role.superuser() && policies.manages(role.name(), false))
              .map(LoginRole::name)
              .toList();
      out.print(sql(instance, visit.version(), managed));
    } catch (SQLException e) {
      throw new CommandException(
          ExitCode.FAILED,
          instance.id() + ": " + e.getMessage() + "; with --server-version nothing is connected to",
          e);
    }
  }

  private String sql(InstanceConfig instance, int version, List<String> managed) {
    if (undo) {
      return SetupSql.undo(version, instance.user(), managed);
    }
    return createRole
        ? SetupSql.byCreateRole(version, instance.user(), managed)
        : SetupSql.byFunction(version, instance.user(), instance.policies().managedRoles());
  }
}
