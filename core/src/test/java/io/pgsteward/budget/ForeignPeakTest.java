package io.pgsteward.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ForeignPeakTest {

  private static final long SECOND = 1_000_000_000L;

  private final ForeignPeak peak = new ForeignPeak();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          7@0                      | 7
          32@0 20@10 11@20         | 32
          32@0 20@10 20@70         | 20
          5@0 40@1                 | 40
          32@0 20@30 20@60         | 32
          32@0 20@30 20@61         | 20
          32@0 11@30 11@60 9@91    | 11
          5@0 5@30 4@60 4@90       | 5
          5@0 5@30 4@60 4@91       | 4
          """)
  void it_is_the_most_of_the_last_sixty_seconds(String samples, int expected) {
    assertThat(observe(samples)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          32@0 5@61                   | 32
          32@0 5@61 5@100 5@121       | 32
          32@0 5@61 5@100 5@122       | 5
          32@0 40@500                 | 40
          32@0 20@50 5@111            | 32
          """)
  void what_counted_before_a_gap_counts_on_for_a_window(String samples, int expected) {
    assertThat(observe(samples)).isEqualTo(expected);
  }

  @Test
  void a_negative_count_is_refused() {
    assertThatThrownBy(() -> peak.observe(0, -1)).isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void random_samples_have_the_peak_of_a_plain_search(long seed) {
    Random random = new Random(seed);
    List<long[]> samples = new ArrayList<>();
    long start = Long.MAX_VALUE - 100 * SECOND;
    long elapsed = 0;
    for (int i = 0; i < 2000; i++) {
      elapsed += random.nextLong(20 * SECOND);
      int count = random.nextInt(50);
      samples.add(new long[] {elapsed, count});
      long now = elapsed;
      int expected =
          samples.stream()
              .filter(s -> now - s[0] <= ForeignPeak.WINDOW_NANOS)
              .mapToInt(s -> (int) s[1])
              .max()
              .orElseThrow();
      assertThat(peak.observe(start + now, count))
          .as("seed %d sample %d", seed, i)
          .isEqualTo(expected);
    }
  }

  private int observe(String samples) {
    int last = -1;
    for (String sample : samples.split(" ")) {
      String[] parts = sample.split("@");
      last = peak.observe(Long.parseLong(parts[1]) * SECOND, Integer.parseInt(parts[0]));
    }
    return last;
  }
}
