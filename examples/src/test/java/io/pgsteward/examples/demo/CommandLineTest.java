package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.JvmProcess;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The demo's command line, answered without starting anything. */
class CommandLineTest {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  @Test
  void help_prints_the_usage() {
    try (JvmProcess demo = JvmProcess.start("demo", Demo.class, List.of("--help"), line -> {})) {
      assertThat(demo.exitCode(LIMIT)).isZero();
      assertThat(demo.output()).first().asString().startsWith("Usage: ");
    }
  }

  @Test
  void what_it_does_not_know_is_refused() {
    try (JvmProcess demo = JvmProcess.start("demo", Demo.class, List.of("--fast"), line -> {})) {
      assertThat(demo.exitCode(LIMIT)).isEqualTo(2);
      assertThat(demo.output()).contains("unknown arguments: --fast");
    }
  }
}
