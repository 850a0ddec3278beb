package io.pgsteward.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.output.OutputFrame;
import org.testcontainers.postgresql.PostgreSQLContainer;

/** A PostgreSQL in a container. Testcontainers removes it when the JVM has ended. */
final class ContainerServer {

  private static final String IMAGE = "postgres:18";

  private ContainerServer() {}

  @SuppressWarnings("resource") // closed by the server's close, or by Testcontainers
  static PostgresServer start(Map<String, String> settings, int port) {
    if (!DockerClientFactory.instance().isDockerAvailable()) {
      throw Skip.because(TestPostgres.PROPERTY + "=container, and Docker cannot be reached");
    }
    if (port != 0) {
      throw Skip.because("a container's port cannot be chosen");
    }
    try {
      Path log = Files.createTempFile("pgsteward-container-", ".log");
      log.toFile().deleteOnExit();
      PostgreSQLContainer container =
          new PostgreSQLContainer(IMAGE)
              .withUsername("postgres")
              .withPassword("postgres")
              .withDatabaseName("postgres")
              .withCommand(command(settings))
              .withLogConsumer(frame -> append(log, frame));
      container.start();
      return new PostgresServer(
          container.getHost(),
          container.getMappedPort(PostgreSQLContainer.POSTGRESQL_PORT),
          container.getUsername(),
          container.getPassword(),
          log,
          container::stop);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String[] command(Map<String, String> settings) {
    List<String> command = new ArrayList<>(List.of("postgres", "-F"));
    Map<String, String> all = EmbeddedServer.ownSettings();
    all.put("listen_addresses", "*");
    all.put("unix_socket_directories", "/var/run/postgresql");
    all.putAll(settings);
    all.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
    return command.toArray(String[]::new);
  }

  private static void append(Path log, OutputFrame frame) {
    try {
      Files.writeString(log, frame.getUtf8String(), StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
