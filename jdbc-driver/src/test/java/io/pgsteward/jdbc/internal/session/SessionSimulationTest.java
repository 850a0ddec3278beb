package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Real books of grants against the real coordinator, with faults, over many seeds. */
@Timeout(300)
class SessionSimulationTest {

  private static final int SEEDS = Integer.getInteger("pgsteward.test.seeds", 60);
  private static final long FIRST = Long.getLong("pgsteward.test.seed", 1);

  private static void seeds(LongConsumer run) {
    for (long seed = FIRST; seed < FIRST + SEEDS; seed++) {
      try {
        run.accept(seed);
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("with -Dpgsteward.test.seed=" + seed + ": " + e.getMessage(), e);
      }
    }
  }

  /** After the faults everybody with demand is served, and no slot stays free. */
  private static void settles(SimulatedWorld world, int budget) {
    world.members.forEach(member -> member.quiet(3));
    world.run(Duration.ofSeconds(20));
    int open = world.members.stream().mapToInt(SimulatedMember::open).sum();
    assertThat(open)
        .as("open after everybody wants 3: %s", world.members)
        .isEqualTo(Math.min(budget, 3 * world.members.size()));
  }

  @Test
  void slow_and_lost_messages_never_pass_the_budget() {
    seeds(
        seed -> {
          SimulatedWorld world = new SimulatedWorld(seed, 8, 4, true);
          world.run(Duration.ofSeconds(60));
          assertThat(world.mostBackends()).isLessThanOrEqualTo(8);
          settles(world, 8);
          assertThat(world.mostBackends()).isLessThanOrEqualTo(8);
        });
  }

  @Test
  void members_cut_off_and_paused_never_pass_the_budget() {
    seeds(
        seed -> {
          SimulatedWorld world = new SimulatedWorld(seed, 8, 4, true);
          for (int i = 0; i < 30; i++) {
            world.run(Duration.ofMillis(world.between(100, 4000)));
            SimulatedMember victim = world.members.get(world.random.nextInt(4));
            switch (world.random.nextInt(4)) {
              case 0 -> victim.pause(SimulatedWorld.millis(world.between(100, 9000)), false);
              case 1 -> victim.pause(SimulatedWorld.millis(world.between(100, 9000)), true);
              case 2 -> victim.cutOff(true);
              default -> world.members.forEach(member -> member.cutOff(false));
            }
          }
          world.run(Duration.ofSeconds(10));
          assertThat(world.mostBackends()).isLessThanOrEqualTo(8);
          settles(world, 8);
          assertThat(world.mostBackends()).isLessThanOrEqualTo(8);
        });
  }

  @Test
  void restarts_of_the_coordinator_never_pass_the_budget_while_members_can_be_heard() {
    seeds(
        seed -> {
          SimulatedWorld world = new SimulatedWorld(seed, 8, 4, false);
          for (int i = 0; i < 10; i++) {
            world.run(Duration.ofMillis(world.between(100, 8000)));
            world.crash(SimulatedWorld.millis(world.between(50, 2000)));
            world.run(Duration.ofMillis(world.between(2100, 5000)));
          }
          assertThat(world.mostBackends()).isLessThanOrEqualTo(8);
          settles(world, 8);
          assertThat(world.mostBackends()).isLessThanOrEqualTo(8);
        });
  }
}
