package io.pgsteward.server;

import io.pgsteward.server.config.ConfigException;
import io.pgsteward.server.config.ConfigLoader;
import io.pgsteward.server.config.InstanceConfig;
import io.pgsteward.server.config.ServerConfig;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of commands that read the configuration. */
final class ConfigOption {

  /** Held, since a logger that nobody holds forgets its level. */
  private static final Logger DRIVER_LOG = Logger.getLogger("org.postgresql");

  @Option(
      names = "--config",
      required = true,
      paramLabel = "FILE",
      description = "the configuration file (YAML)")
  @SuppressWarnings("NullAway.Init")
  private Path file;

  @Option(
      names = "--instance",
      paramLabel = "NAME",
      description = "this instance of the configuration alone")
  private @Nullable String instance;

  ServerConfig load() throws ConfigException {
    // What pgjdbc logs reaches us as an exception too, and its text may quote a URL.
    DRIVER_LOG.setLevel(Level.OFF);
    return new ConfigLoader(System.getenv()).load(file);
  }

  /** The instances that were asked for: one by name, or all. */
  List<InstanceConfig> instances(ServerConfig config) throws CommandException {
    if (instance == null) {
      return config.instances();
    }
    List<InstanceConfig> named =
        config.instances().stream().filter(one -> one.id().value().equals(instance)).toList();
    if (named.isEmpty()) {
      throw new CommandException(
          ExitCode.WRONG_CONFIG,
          "the configuration has no instance " + instance + ", but " + names(config),
          null);
    }
    return named;
  }

  /** The one instance that was asked for. */
  InstanceConfig single(ServerConfig config) throws CommandException {
    List<InstanceConfig> instances = instances(config);
    if (instances.size() > 1) {
      throw new CommandException(
          ExitCode.WRONG_CONFIG, "say which with --instance: " + names(config), null);
    }
    return instances.get(0);
  }

  private static String names(ServerConfig config) {
    return config.instances().stream()
        .map(one -> one.id().value())
        .collect(Collectors.joining(", "));
  }
}
