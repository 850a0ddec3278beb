package io.pgsteward.server;

import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.ConnectionSource;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.PostgresLeaderSession;
import io.pgsteward.postgres.Visit;
import io.pgsteward.server.config.ConfigException;
import io.pgsteward.server.config.InstanceConfig;
import io.pgsteward.server.config.ServerConfig;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** A command that does the same on each instance; what fails on one does not spare the next. */
abstract class InstanceCommand implements Callable<Integer> {

  @Mixin
  @SuppressWarnings("NullAway.Init")
  private ConfigOption config;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  /** Does it on one instance. */
  abstract ExitCode run(Instance instance) throws SQLException;

  /** Prints what is printed once, after the last instance. */
  void finish(PrintWriter out) {}

  @Override
  public final Integer call() throws ConfigException, CommandException {
    ServerConfig loaded = config.load();
    PrintWriter err = spec.commandLine().getErr();
    ExitCode worst = ExitCode.OK;
    for (InstanceConfig one : config.instances(loaded)) {
      ExitCode code;
      try {
        code = run(new Instance(one, loaded.lease(), spec.commandLine().getOut()));
      } catch (LeadershipHeldException e) {
        err.println(one.id() + ": " + e.getMessage());
        code = ExitCode.ANOTHER_LEADS;
      } catch (SQLException e) {
        err.println(one.id() + ": " + e.getMessage());
        code = ExitCode.FAILED;
      }
      worst = worst.and(code);
    }
    finish(spec.commandLine().getOut());
    return worst.code();
  }

  /**
   * One instance of the configuration, to be worked on.
   *
   * @param lease the configuration's; a third of it is the deadline of every statement
   */
  record Instance(InstanceConfig config, Duration lease, PrintWriter out) {

    /** Prints a line that begins with the instance's name. */
    void say(String line) {
      out.println(config.id() + ": " + line);
    }

    private ConnectionSource source() {
      return ConnectionSource.of(config.url(), config.credentials(), lease.dividedBy(3));
    }

    Visit visit() throws SQLException {
      return Visit.open(source(), lease.dividedBy(3), Ticker.system());
    }

    /** A session that shows others which command leads, and where. */
    PostgresLeaderSession leaderSession(String command) {
      String host;
      try {
        host = InetAddress.getLocalHost().getHostName();
      } catch (UnknownHostException e) {
        host = "unknown";
      }
      return new PostgresLeaderSession(
          source(),
          command + "@" + host.replaceAll("\\s", "-"),
          config.agreed(),
          lease,
          Ticker.system(),
          true);
    }
  }
}
