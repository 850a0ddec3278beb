package io.pgsteward.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BudgetTrackerTest {

  private static final long SECOND = 1_000_000_000L;
  private static final ServerLimits HUNDRED = new ServerLimits(100, 3, 0);

  @ParameterizedTest
  @CsvSource({
    "200, 3, 0, 32, 15, 150, 0",
    "200, 3, 5, 32, 15, 145, 0",
    "100, 3, 0,  0,  0,  97, 0",
    "100, 3, 0, 90, 15,   0, 8",
  })
  void the_budget_is_what_the_parts_leave(
      int max, int superuser, int reserved, int foreign, int margin, int total, int deficit) {
    Budget budget =
        new BudgetTracker(margin).observed(0, new ServerLimits(max, superuser, reserved), foreign);

    assertThat(budget.total()).isEqualTo(total);
    assertThat(budget.deficit()).isEqualTo(deficit);
    assertThat(budget.foreignPeak()).isEqualTo(foreign);
    assertThat(budget.margin()).isEqualTo(margin);
    assertThat(budget.heldBack()).isZero();
  }

  @Test
  void before_the_first_look_there_is_none() {
    assertThat(new BudgetTracker(3).budget()).isNull();
  }

  @Test
  void a_rise_of_foreign_connections_acts_at_once_and_a_fall_when_the_peak_leaves_the_window() {
    BudgetTracker tracker = new BudgetTracker(3);
    assertThat(total(tracker, 0, HUNDRED, 1)).isEqualTo(93);
    assertThat(total(tracker, 1, HUNDRED, 31)).isEqualTo(63);
    for (int second = 2; second <= 61; second++) {
      assertThat(total(tracker, second, HUNDRED, 1)).as("at %d s", second).isEqualTo(63);
    }
    assertThat(total(tracker, 62, HUNDRED, 1)).isEqualTo(93);
  }

  @Test
  void lower_limits_act_at_once() {
    BudgetTracker tracker = new BudgetTracker(3);
    assertThat(total(tracker, 0, HUNDRED, 1)).isEqualTo(93);
    assertThat(total(tracker, 1, new ServerLimits(50, 3, 2), 1)).isEqualTo(41);
  }

  @Test
  void it_does_not_grow_before_a_full_window_was_observed() {
    BudgetTracker tracker = new BudgetTracker(3);
    ServerLimits raised = new ServerLimits(200, 3, 0);
    assertThat(total(tracker, 0, HUNDRED, 1)).isEqualTo(93);
    Budget held = tracker.observed(30 * SECOND, raised, 1);
    assertThat(held.total()).isEqualTo(93);
    assertThat(held.heldBack()).isEqualTo(100);
    assertThat(total(tracker, 60, raised, 1)).isEqualTo(93);
    assertThat(total(tracker, 61, raised, 1)).isEqualTo(193);
    assertThat(total(tracker, 62, new ServerLimits(300, 3, 0), 1)).isEqualTo(293);
  }

  @Test
  void it_does_not_grow_after_a_gap_before_a_full_window_was_observed() {
    BudgetTracker tracker = new BudgetTracker(3);
    for (int second = 0; second <= 100; second++) {
      tracker.observed(second * SECOND, HUNDRED, 41);
    }
    ServerLimits raised = new ServerLimits(200, 3, 0);
    assertThat(total(tracker, 200, raised, 1)).isEqualTo(53);
    assertThat(total(tracker, 230, raised, 60)).isEqualTo(53);
    assertThat(total(tracker, 231, HUNDRED, 60)).isEqualTo(34);
    assertThat(total(tracker, 260, raised, 1)).isEqualTo(34);
    assertThat(total(tracker, 261, raised, 1)).isEqualTo(134);
  }

  @Test
  void looks_that_fail_for_less_than_a_window_change_nothing() {
    BudgetTracker tracker = new BudgetTracker(3);
    for (int second = 0; second <= 100; second++) {
      tracker.observed(second * SECOND, HUNDRED, 41);
    }
    Budget before = tracker.budget();
    assertThat(before).isNotNull();
    assertThat(tracker.observed(150 * SECOND, HUNDRED, 41)).isEqualTo(before);
  }

  @Test
  void a_deficit_that_heals_inside_the_first_window_stays_zero() {
    BudgetTracker tracker = new BudgetTracker(15);
    assertThat(total(tracker, 0, HUNDRED, 90)).isZero();
    Budget later = tracker.observed(SECOND, new ServerLimits(120, 3, 0), 90);
    assertThat(later.total()).isZero();
    assertThat(later.deficit()).isZero();
    assertThat(later.heldBack()).isEqualTo(12);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void random_looks_never_pass_what_the_server_has_now(long seed) {
    Random random = new Random(seed);
    BudgetTracker tracker = new BudgetTracker(random.nextInt(5));
    long now = random.nextLong();
    for (int i = 0; i < 2000; i++) {
      now += random.nextLong(random.nextInt(50) == 0 ? 200 * SECOND : 2 * SECOND);
      ServerLimits limits =
          new ServerLimits(20 + random.nextInt(5) * 20, random.nextInt(4), random.nextInt(4));
      int foreign = random.nextInt(60);
      Budget budget = tracker.observed(now, limits, foreign);
      int room =
          limits.maxConnections()
              - limits.superuserReserved()
              - limits.reserved()
              - foreign
              - budget.margin();
      assertThat(budget.total()).as("seed %d look %d", seed, i).isBetween(0, Math.max(0, room));
    }
  }

  @Test
  void a_negative_margin_is_refused() {
    assertThatThrownBy(() -> new BudgetTracker(-1)).isInstanceOf(IllegalArgumentException.class);
  }

  private static int total(BudgetTracker tracker, long second, ServerLimits limits, int foreign) {
    return tracker.observed(second * SECOND, limits, foreign).total();
  }
}
