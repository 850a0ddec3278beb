package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.internal.pool.OpenBackoff.Kind;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OpenBackoffTest {

  private static final SQLException FAILURE = new SQLException("no");

  /** Chance in the middle: a pause is as long as its nominal delay. */
  private final OpenBackoff backoff = new OpenBackoff(bound -> bound / 2);

  private static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  @ParameterizedTest
  @CsvSource({
    "53300, FULL",
    "28P01, HOPELESS",
    "28000, HOPELESS",
    "3D000, HOPELESS",
    "42501, HOPELESS",
    "22023, HOPELESS",
    "57P03, TRANSIENT",
    "08001, TRANSIENT",
    "53200, TRANSIENT",
    ", TRANSIENT"
  })
  void the_state_tells_what_to_do(String state, Kind kind) {
    assertThat(Kind.of(new SQLException("no", state))).isEqualTo(kind);
  }

  @Test
  void without_failures_any_number_may_open_at_once() {
    assertThat(backoff.waitNanos(5)).isLessThanOrEqualTo(0);
    assertThat(backoff.atOnce()).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void pauses_double_up_to_a_bound_and_one_at_a_time_is_tried() {
    long now = 0;
    long[] pauses = new long[8];
    for (int i = 0; i < pauses.length; i++) {
      backoff.failed(FAILURE, Kind.TRANSIENT, now);
      pauses[i] = TimeUnit.NANOSECONDS.toMillis(backoff.waitNanos(now));
      now += backoff.waitNanos(now);
    }
    assertThat(pauses).containsExactly(20, 40, 80, 160, 320, 500, 500, 500);
    assertThat(backoff.atOnce()).isEqualTo(1);
  }

  @Test
  void failures_of_one_round_count_as_one() {
    for (int i = 0; i < 50; i++) {
      backoff.failed(FAILURE, Kind.FULL, millis(i / 25));
    }
    assertThat(backoff.waitNanos(0)).isEqualTo(millis(4));
  }

  @Test
  void a_success_forgets_everything() {
    backoff.failed(FAILURE, Kind.HOPELESS, 0);
    assertThat((Throwable) backoff.hopeless(millis(1))).isSameAs(FAILURE);
    assertThat((Throwable) backoff.lastFailure()).isSameAs(FAILURE);
    backoff.succeeded();
    assertThat((Throwable) backoff.hopeless(millis(1))).isNull();
    assertThat((Throwable) backoff.lastFailure()).isNull();
    assertThat(backoff.waitNanos(millis(1))).isZero();
  }

  @Test
  void what_is_hopeless_is_worth_another_try_after_its_pause() {
    backoff.failed(FAILURE, Kind.HOPELESS, 0);
    assertThat((Throwable) backoff.hopeless(millis(99))).isSameAs(FAILURE);
    assertThat((Throwable) backoff.hopeless(millis(101))).isNull();
  }

  @Test
  void a_full_server_is_not_hopeless() {
    backoff.failed(FAILURE, Kind.FULL, 0);
    assertThat((Throwable) backoff.hopeless(0)).isNull();
  }
}
