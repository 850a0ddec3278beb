package io.pgsteward.server;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the coordinator. */
@Command(
    name = "pgsteward-coordinator",
    description = "Shares the connection budget of PostgreSQL servers among application processes.",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class,
    subcommands = ServeCommand.class,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:stopped as asked",
      "1:failed at run time",
      "2:wrong command line or configuration",
      "3:another coordinator leads"
    })
final class Main {

  private Main() {}

  public static void main(String[] args) {
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    return new CommandLine(new Main()).setExpandAtFiles(false);
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
