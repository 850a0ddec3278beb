package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WaitHistogramTest {

  private final WaitHistogram histogram = new WaitHistogram();

  @Test
  void nothing_recorded_has_no_percentile() {
    assertThat(histogram.drainPercentile99()).isEqualTo(-1);
  }

  @Test
  void the_percentile_is_at_most_an_eighth_too_large() {
    for (int micros = 1; micros <= 10_000; micros++) {
      histogram.record(micros);
    }
    assertThat(histogram.drainPercentile99()).isBetween(9_900L, 9_900L * 9 / 8);
    assertThat(histogram.drainPercentile99()).as("it was drained").isEqualTo(-1);
  }

  @Test
  void one_slow_borrower_in_a_hundred_does_not_count_and_two_do() {
    record(99, 10);
    record(1, 1_000_000);
    assertThat(histogram.drainPercentile99()).isLessThan(20);
    record(98, 10);
    record(2, 1_000_000);
    assertThat(histogram.drainPercentile99()).isGreaterThanOrEqualTo(1_000_000);
  }

  @Test
  void what_one_drains_another_adds() {
    record(7, 5);
    record(3, 70_000);
    String drained = histogram.drain();
    WaitHistogram sum = new WaitHistogram();
    sum.add(drained);
    sum.add("");
    assertThat(sum.drain()).isEqualTo(drained);
    assertThat(histogram.drain()).isEmpty();
  }

  private void record(int times, long micros) {
    for (int i = 0; i < times; i++) {
      histogram.record(micros);
    }
  }
}
