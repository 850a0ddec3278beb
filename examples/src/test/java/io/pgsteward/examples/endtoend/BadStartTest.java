package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.FaultProxy;
import io.pgsteward.testing.JvmProcess;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The coordinator's jar started wrongly: one clear message and an exit code. */
@Tag("postgres")
class BadStartTest {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @TempDir private Path directory;

  @Test
  void a_file_that_is_not_there_is_named() {
    refused(2, directory.resolve("nothing.yml"), "nothing.yml");
  }

  @Test
  void a_directory_is_no_configuration() {
    refused(2, directory, directory.getFileName().toString());
  }

  @Test
  void every_problem_of_a_file_is_told_with_its_line() throws IOException {
    Path file = directory.resolve("wrong.yml");
    Files.writeString(
        file,
        """
        lisen: 127.0.0.1:7432
        lease: soon
        instances:
          main:
            url: jdbc:postgresql://127.0.0.1:5432/postgres
            user: pgsteward
            enforce: perhaps
            default: { guarantee: -1 }
        """);
    String said = refused(2, file, "wrong.yml");
    assertThat(said).contains("lisen").contains("lease").contains("perhaps").contains("guarantee");
  }

  @Test
  void a_port_in_use_is_named() throws Exception {
    PostgresServer postgres = TestPostgres.shared();
    TestRole role = postgres.createRoleNamed(postgres.newName("steward"), "IN ROLE pg_monitor");
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Path file = config(postgres, role, role.password(), taken.getLocalPort());
      refused(1, file, Integer.toString(taken.getLocalPort()));
    }
  }

  @Test
  void a_wrong_password_is_told_without_showing_it() throws Exception {
    PostgresServer postgres = TestPostgres.shared();
    TestRole role = postgres.createRoleNamed(postgres.newName("steward"), "IN ROLE pg_monitor");
    Path file = config(postgres, role, "mistyped-secret", CoordinatorProcess.freePort());
    String said = refused(1, file, role.name());
    assertThat(said).doesNotContain("mistyped-secret");
  }

  @Test
  void a_second_coordinator_with_another_configuration_says_who_leads() throws Exception {
    PostgresServer postgres = TestPostgres.shared();
    TestRole role = postgres.createRoleNamed(postgres.newName("steward"), "IN ROLE pg_monitor");
    int port = CoordinatorProcess.freePort();
    Path leaders = config(postgres, role, role.password(), port);
    try (CoordinatorProcess first = CoordinatorProcess.start(leaders, port, line -> {})) {
      first.awaitReady();
      Path file = config(postgres, role, role.password(), CoordinatorProcess.freePort());
      Files.writeString(file, Files.readString(file) + "    margin: 5\n");
      refused(3, file, first.url().substring("http://".length()));
    }
  }

  @Test
  void without_postgresql_it_starts_and_leads_once_postgresql_is_there() throws Exception {
    PostgresServer postgres = TestPostgres.shared();
    try (FaultProxy proxy = FaultProxy.before(postgres)) {
      proxy.refuse();
      try (CoordinatorProcess coordinator =
          CoordinatorSetup.of(postgres).others("{ guarantee: 0 }").through(proxy).start()) {
        coordinator.awaitLive();
        proxy.pass();
        coordinator.awaitReady();
        assertThat(coordinator.instance().epoch()).isPositive();
        assertThat(coordinator.stop()).isZero();
      }
    }
  }

  private Path config(PostgresServer postgres, TestRole role, String password, int port)
      throws IOException {
    return Files.writeString(
        directory.resolve("coordinator-" + port + ".yml"),
        """
        listen: 127.0.0.1:%d
        instances:
          main:
            url: %s
            user: %s
            password: "%s"
            default: { guarantee: 0 }
        """
            .formatted(port, postgres.url("postgres"), role.name(), password));
  }

  /** What it said when it refused to start. */
  private static String refused(int exitCode, Path config, String named) {
    try (JvmProcess process = CoordinatorProcess.run("serve", "--config", config.toString())) {
      assertThat(process.exitCode(LIMIT)).as(process.tail()).isEqualTo(exitCode);
      String said = String.join("\n", process.output());
      assertThat(said).contains(named).doesNotContain("\tat ");
      return said;
    }
  }
}
