package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.JvmProcess;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("postgres")
class DemoTest {

  /** The demo itself says under three minutes; a busy machine may take longer. */
  private static final Duration LIMIT = Duration.ofMinutes(5);

  @Test
  void every_promise_of_the_demo_is_kept() {
    try (JvmProcess demo = JvmProcess.start("demo", Demo.class, List.of(), System.out::println)) {
      assertThat(demo.exitCode(LIMIT)).as("exit code; 1 means a broken promise").isZero();
      assertThat(demo.output()).anyMatch(line -> line.endsWith("promises were kept."));
    }
  }
}
