package io.pgsteward.allocation;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SlotClockTest {

  private final SlotClock clock = new SlotClock();

  @Test
  void nothing_noted_means_no_wait_and_no_slot() {
    assertThat(clock.waitedNanos(50)).isZero();
    assertThat(clock.residedNanos(50)).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void the_wait_counts_from_the_moment_demand_rose_above_the_grant() {
    clock.note(2, 2, 10);
    clock.note(2, 3, 20);
    clock.note(2, 9, 30);
    assertThat(clock.waitedNanos(50)).isEqualTo(30);
    clock.note(2, 2, 60);
    assertThat(clock.waitedNanos(70)).isZero();
  }

  @Test
  void a_slot_that_comes_or_goes_starts_the_wait_again() {
    clock.note(0, 5, 0);
    clock.note(1, 5, 10);
    assertThat(clock.waitedNanos(30)).isEqualTo(20);
    clock.note(0, 5, 40);
    assertThat(clock.waitedNanos(45)).isEqualTo(5);
  }

  @Test
  void the_residence_counts_from_the_last_slot_that_came() {
    clock.note(1, 5, 10);
    clock.note(3, 5, 20);
    clock.note(2, 5, 30);
    assertThat(clock.residedNanos(50)).isEqualTo(30);
    clock.note(0, 5, 60);
    assertThat(clock.residedNanos(70)).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void readings_below_zero_are_as_good_as_others() {
    clock.note(1, 5, Long.MAX_VALUE - 5);
    assertThat(clock.waitedNanos(Long.MIN_VALUE + 4)).isEqualTo(10);
    assertThat(clock.residedNanos(Long.MIN_VALUE + 4)).isEqualTo(10);
  }
}
