package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BackoffTest {

  @Test
  void delays_double_up_to_the_cap() {
    Backoff backoff = new Backoff(100, () -> 1.0);

    List<Long> delays = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      delays.add(backoff.failed(1000));
    }

    assertThat(delays).containsExactly(100L, 200L, 400L, 800L, 1000L, 1000L, 1000L);
  }

  @Test
  void a_success_starts_again_from_the_first_delay() {
    Backoff backoff = new Backoff(100, () -> 1.0);
    backoff.failed(1000);
    backoff.failed(1000);

    backoff.succeeded();

    assertThat(backoff.failed(1000)).isEqualTo(100);
  }

  @Test
  void jitter_takes_at_most_half_and_never_passes_the_cap() {
    long seed = 20261;
    Random random = new Random(seed);
    Backoff backoff = new Backoff(64, random::nextDouble);
    long full = 64;
    for (int i = 0; i < 200; i++) {
      long cap = 1 + random.nextInt(5000);
      long bound = Math.min(full, cap);
      assertThat(backoff.failed(cap))
          .as("seed %d, failure %d", seed, i)
          .isBetween(bound / 2, bound);
      full = Math.min(full * 2, 1L << 40);
    }
  }

  @Test
  void very_many_failures_do_not_overflow() {
    Backoff backoff = new Backoff(Long.MAX_VALUE / 3, () -> 0.5);
    for (int i = 0; i < 100; i++) {
      assertThat(backoff.failed(Long.MAX_VALUE)).isPositive();
    }
  }

  @Test
  void a_first_delay_of_nothing_is_refused() {
    assertThatThrownBy(() -> new Backoff(0, () -> 0)).hasMessageContaining("above 0");
  }
}
