package io.pgsteward.server;

import io.pgsteward.server.config.ConfigException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the coordinator. */
@Command(
    name = "pgsteward-coordinator",
    description = "Shares the connection budget of PostgreSQL servers among application processes.",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class,
    subcommands = {
      ServeCommand.class,
      CheckCommand.class,
      PlanCommand.class,
      ApplyCommand.class,
      ReleaseCommand.class,
      SetupSqlCommand.class,
      ShowCommand.class,
      ExplainCommand.class
    })
final class Main {

  private Main() {}

  public static void main(String[] args) {
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    CommandLine main =
        new CommandLine(new Main())
            .setExpandAtFiles(false)
            .setCaseInsensitiveEnumValuesAllowed(true)
            .setExecutionExceptionHandler(Main::failed);
    withExitCodes(main);
    main.getSubcommands().values().forEach(Main::withExitCodes);
    return main;
  }

  private static void withExitCodes(CommandLine command) {
    command
        .getCommandSpec()
        .usageMessage()
        .exitCodeListHeading("%nExit codes:%n")
        .exitCodeList(ExitCode.table());
  }

  /** What is expected to go wrong is told in one sentence, the rest with its stack trace. */
  private static int failed(
      Exception failure, CommandLine command, CommandLine.ParseResult parsed) {
    if (failure instanceof ConfigException) {
      command.getErr().println(failure.getMessage());
      return ExitCode.WRONG_CONFIG.code();
    }
    if (failure instanceof CommandException expected) {
      command.getErr().println(expected.getMessage());
      return expected.exitCode().code();
    }
    failure.printStackTrace(command.getErr());
    return ExitCode.FAILED.code();
  }

  /** The version that the build wrote into the jar's manifest. */
  static final class Version implements CommandLine.IVersionProvider {

    @Override
    public String[] getVersion() {
      String version = Main.class.getPackage().getImplementationVersion();
      return new String[] {
        "pgsteward-coordinator " + (version == null ? "(not from a jar)" : version)
      };
    }
  }
}
