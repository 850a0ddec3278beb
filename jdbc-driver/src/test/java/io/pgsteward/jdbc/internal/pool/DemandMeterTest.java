package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class DemandMeterTest {

  private static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  private final DemandMeter meter = new DemandMeter(0);

  @Test
  void a_level_counts_for_a_second_and_at_most_a_quarter_more() {
    meter.raise(7);
    assertThat(meter.at(millis(10), 0)).isEqualTo(7);
    assertThat(meter.at(millis(999), 0)).isEqualTo(7);
    assertThat(meter.at(millis(1_250), 0)).isZero();
  }

  @Test
  void a_level_that_was_raised_late_in_a_part_counts_for_a_whole_second() {
    meter.at(millis(249), 3);
    assertThat(meter.at(millis(1_249), 0)).isEqualTo(3);
  }

  @Test
  void the_maximum_counts_and_not_the_last() {
    meter.raise(2);
    meter.at(millis(300), 5);
    meter.at(millis(600), 1);
    assertThat(meter.at(millis(900), 3)).isEqualTo(5);
    assertThat(meter.at(millis(1_600), 0)).isEqualTo(3);
  }

  @Test
  void the_present_level_always_counts() {
    meter.at(millis(5_000), 4);
    assertThat(meter.at(millis(9_000), 4)).isEqualTo(4);
    assertThat(meter.at(millis(60_000), 6)).isEqualTo(6);
  }

  @Test
  void a_clock_that_begins_below_zero_makes_no_difference() {
    DemandMeter other = new DemandMeter(-millis(10_000));
    other.raise(3);
    assertThat(other.at(-millis(9_500), 0)).isEqualTo(3);
    assertThat(other.at(-millis(8_000), 0)).isZero();
  }

  @Test
  void a_rise_must_be_told_once_until_it_has_been() {
    assertThat(meter.mustTell(1)).isTrue();
    assertThat(meter.mustTell(2)).isFalse();
    meter.told(2);
    assertThat(meter.mustTell(2)).isFalse();
    assertThat(meter.mustTell(3)).isTrue();
  }
}
