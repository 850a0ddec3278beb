package io.pgsteward.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class JvmProcessTest {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  /** Repeats what it is told, until it is told to stop. */
  static final class Parrot {
    private Parrot() {}

    public static void main(String[] arguments) throws InterruptedException {
      CountDownLatch stop = new CountDownLatch(1);
      System.out.println("started with " + String.join(",", arguments));
      JvmProcess.onCommand(
          line -> {
            System.out.println("heard " + line);
            if (line.equals("stop")) {
              stop.countDown();
            }
          });
      stop.await();
      System.exit(7);
    }
  }

  @Test
  void runs_a_class_hands_on_its_lines_and_gives_its_exit_code() {
    try (JvmProcess parrot = start()) {
      parrot.send("hello");
      parrot.send("stop");
      assertThat(parrot.exitCode(LIMIT)).isEqualTo(7);
      assertThat(parrot.output())
          .containsExactly("started with a,b c", "heard hello", "heard stop");
    }
  }

  @Test
  void a_killed_process_is_gone() {
    try (JvmProcess parrot = start()) {
      parrot.kill();
      assertThat(parrot.isAlive()).isFalse();
      assertThat(parrot.exitCode(LIMIT)).isEqualTo(128 + 9);
    }
  }

  private static JvmProcess start() {
    return JvmProcess.start("parrot", Parrot.class, List.of("a", "b c"), line -> {});
  }
}
