package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.JvmProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The whole way, as docs/operations.md tells it: from a plain server and back. */
@Tag("postgres")
@Timeout(180)
class EnforcingServeTest {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @TempDir Path directory;

  @Test
  void from_no_limits_to_limits_that_are_kept_and_back() throws Exception {
    try (ManagedServer server = new ManagedServer()) {
      server.reset();
      int port = CoordinatorProcess.freePort();
      Path file = server.config(directory);
      Files.writeString(
          file, "listen: 127.0.0.1:" + port + "\nlease: 3s\n" + Files.readString(file));
      String config = file.toString();
      String url = "http://127.0.0.1:" + port;
      server.run(CommandRun.of("setup-sql", "--config", config).out());
      assertThat(CommandRun.of("check", "--config", config).code()).isZero();
      assertThat(CommandRun.of("plan", "--config", config).code()).isEqualTo(4);

      try (JvmProcess coordinator =
          JvmProcess.start(
              "coordinator", Main.class, List.of("serve", "--config", config), line -> {})) {
        Await.until(
            "limits are set",
            LIMIT,
            () -> {
              assertThat(coordinator.isAlive()).as(coordinator.tail()).isTrue();
              String shown = CommandRun.of("show", "limits", "--url", url).out();
              return shown.matches("(?s).*web +16 .*worker +8 .*");
            });
        assertThatThrownBy(() -> server.connect("agent_1", 1))
            .hasMessageContaining("too many connections for role \"agent_1\"");
        server.connect("web", 1);

        assertThat(CommandRun.of("show", "budget", "--url", url).lines()).hasSize(2);
        assertThat(CommandRun.of("explain", "web@shop", "--url", url).lines())
            .contains(
                "  role limit   16: PostgreSQL refuses role web more connections than that",
                "  so           it has all that it wants");
        CommandRun apply = CommandRun.of("apply", "--config", config);
        assertThat(apply.code()).isEqualTo(3);
        assertThat(apply.err()).contains("127.0.0.1:" + port);
        assertThat(CommandRun.of("release", "--config", config).code()).isEqualTo(3);
        coordinator.terminate();
        assertThat(coordinator.exitCode(LIMIT)).isZero();
      }
      assertThat(server.limits()).isEqualTo(Map.of("agent_1", 0, "web", 16, "worker", 8));
      assertThat(CommandRun.of("release", "--config", config).code()).isZero();
      assertThat(server.limits()).isEqualTo(Map.of("agent_1", -1, "web", -1, "worker", -1));
      server.run(CommandRun.of("setup-sql", "--undo", "--config", config).out());
      assertThat(CommandRun.of("check", "--config", config).code()).isEqualTo(1);
    }
  }
}
