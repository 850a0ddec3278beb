package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.model.TenantId;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Rules S1 to S4, S6 and S8 in a world of delays, losses, crashes, partitions and restarts. {@code
 * -Dworld.seeds=N} explores more seeds, {@code -Dworld.seed=S} replays one.
 */
class WorldTest {

  static LongStream seeds() {
    Long one = Long.getLong("world.seed");
    return one != null ? LongStream.of(one) : LongStream.range(0, Long.getLong("world.seeds", 20));
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void no_member_ever_holds_what_the_ledger_does_not_count(long seed) {
    live(seed, false);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void role_limits_keep_the_budget_whoever_logs_in(long seed) {
    live(seed, true);
  }

  private static void live(long seed, boolean enforces) {
    World world =
        new World(
            seed,
            PolicyBooks.webAndWorker(),
            List.of(TenantId.parse("web@shop"), TenantId.parse("worker@shop")),
            enforces);
    for (int i = 0; i < 60; i++) {
      world.run(Duration.ofMillis(1500));
      disturb(world);
    }
    assertThat(world.served()).as("connections used, seed %s", seed).isGreaterThan(500);
  }

  private static void disturb(World world) {
    switch (world.random.nextInt(13)) {
      case 0 -> world.join();
      case 1 -> {
        if (world.participants.size() > 2) {
          world.kill(world.participants.get(world.random.nextInt(world.participants.size())));
        }
      }
      case 2 -> world.foreign = world.random.nextInt(4);
      case 3 -> world.maxConnections = 8 + world.random.nextInt(14);
      case 4 -> {
        world.restart();
        world.run(world.untilHeard());
      }
      case 5 -> {
        if (world.participants.size() > 2) {
          world.participants.get(0).leaving = true;
        }
      }
      case 6 -> {
        world.restartOnABackup();
        world.run(world.untilHeard());
      }
      case 7, 8 ->
          world.cut(world.participants.get(world.random.nextInt(world.participants.size())));
      default -> {}
    }
  }
}
