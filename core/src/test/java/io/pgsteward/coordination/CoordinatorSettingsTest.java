package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class CoordinatorSettingsTest {

  private static final Duration LEASE = Duration.ofSeconds(15);
  private static final Duration THIRD = Duration.ofSeconds(5);

  private static CoordinatorSettings settings(Duration park, Duration observeEvery) {
    return new CoordinatorSettings(
        new InstanceId("main"),
        LEASE,
        park,
        observeEvery,
        3,
        PolicyBooks.withDefault(),
        true,
        EnforceMode.OFF);
  }

  @Test
  void a_third_of_the_lease_is_the_longest_park_and_the_longest_time_between_looks() {
    assertThatCode(() -> settings(THIRD, THIRD)).doesNotThrowAnyException();
  }

  @Test
  void a_look_so_late_that_the_leaders_session_may_have_ended_is_refused() {
    assertThatThrownBy(() -> settings(THIRD, THIRD.plusMillis(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("observeEvery is at most a third of the lease")
        .hasMessageContaining("PT5.001S")
        .hasMessageContaining("PT15S");
  }

  @Test
  void a_park_time_that_lets_a_lease_end_is_refused() {
    assertThatThrownBy(() -> settings(THIRD.plusMillis(1), THIRD))
        .hasMessageContaining("park is at most a third of the lease");
  }

  @Test
  void no_time_between_looks_is_refused() {
    assertThatThrownBy(() -> settings(THIRD, Duration.ZERO)).hasMessageContaining("above 0");
  }
}
