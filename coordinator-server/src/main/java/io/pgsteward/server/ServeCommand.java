package io.pgsteward.server;

import io.pgsteward.server.config.ConfigException;
import io.pgsteward.server.config.ConfigLoader;
import io.pgsteward.server.config.ServerConfig;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs a coordinator until the process is told to stop. */
@Command(
    name = "serve",
    description = {
      "Runs a coordinator until SIGTERM or SIGINT. While another one with the same configuration"
          + " leads it stands by. One with another configuration is refused (exit code 3)."
    },
    mixinStandardHelpOptions = true)
final class ServeCommand implements Callable<Integer> {

  private static final org.slf4j.Logger LOG = LoggerFactory.getLogger("pgsteward");

  /** Held, since a logger that nobody holds forgets its level. */
  private static final Logger DRIVER_LOG = Logger.getLogger("org.postgresql");

  @Option(
      names = "--config",
      required = true,
      paramLabel = "FILE",
      description = "the configuration file (YAML)")
  @SuppressWarnings("NullAway.Init")
  private Path config;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  @Override
  public Integer call() throws InterruptedException {
    // What pgjdbc logs reaches us as an exception too, and its text may quote a URL.
    DRIVER_LOG.setLevel(Level.OFF);
    PrintWriter err = spec.commandLine().getErr();
    try {
      ServerConfig loaded = new ConfigLoader(System.getenv()).load(config);
      serve(CoordinatorServer.start(loaded));
      return ExitCode.OK.code();
    } catch (ConfigException e) {
      err.println(e.getMessage());
      return ExitCode.WRONG_CONFIG.code();
    } catch (StartException e) {
      String.valueOf(e.getMessage()).lines().forEach(line -> LOG.error("{}: {}", config, line));
      return e.exitCode().code();
    }
  }

  private static void serve(CoordinatorServer server) throws InterruptedException {
    CountDownLatch stopped = new CountDownLatch(1);
    Thread hook =
        new Thread(
            () -> {
              server.close();
              stopped.countDown();
              // A JVM ended by a signal reports that signal, but being stopped is no failure.
              Runtime.getRuntime().halt(ExitCode.OK.code());
            },
            "pgsteward-stop");
    Runtime.getRuntime().addShutdownHook(hook);
    stopped.await();
  }
}
