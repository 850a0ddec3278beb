package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class PacingTest {

  private static final long PARK = ms(5000);

  private final Pacing pacing = new Pacing(() -> 1.0);

  private static long ms(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  @Nested
  class Urgent_news {

    @Test
    void ends_a_parked_call_at_once() {
      pacing.reading();
      pacing.sent(ms(0), false);
      pacing.urgent();
      assertThat(pacing.giveUpIn(ms(100))).isZero();
    }

    @Test
    void leaves_a_call_alone_that_was_only_just_sent() {
      pacing.reading();
      pacing.sent(ms(10), false);
      pacing.urgent();
      assertThat(pacing.giveUpIn(ms(11))).isEqualTo(ms(1));
      assertThat(pacing.giveUpIn(ms(12))).isZero();
    }

    @Test
    void that_the_report_already_holds_ends_nothing() {
      pacing.urgent();
      pacing.reading();
      pacing.sent(ms(0), false);
      assertThat(pacing.giveUpIn(ms(100))).isEqualTo(Pacing.NEVER);
    }

    @Test
    void that_came_between_the_figures_and_the_call_is_not_forgotten() {
      pacing.reading();
      pacing.urgent();
      pacing.sent(ms(0), false);
      assertThat(pacing.giveUpIn(ms(2))).isZero();
    }

    @Test
    void that_never_stops_cannot_keep_every_answer_away() {
      long now = 0;
      for (int i = 0; i < 20; i++) {
        pacing.reading();
        pacing.sent(now, false);
        pacing.urgent();
        now += pacing.giveUpIn(now);
        pacing.givenUp();
      }
      pacing.reading();
      pacing.sent(now, false);
      pacing.urgent();
      assertThat(pacing.giveUpIn(now)).as("time left for an answer").isEqualTo(ms(1024));

      pacing.answered(true, now + ms(500), PARK);
      pacing.reading();
      pacing.sent(now + ms(500), false);
      pacing.urgent();
      assertThat(pacing.giveUpIn(now + ms(500))).isEqualTo(ms(2));
    }

    @Test
    void without_a_call_in_flight_ends_nothing() {
      pacing.urgent();
      assertThat(pacing.giveUpIn(ms(100))).isEqualTo(Pacing.NEVER);
      pacing.sent(ms(0), false);
      pacing.answered(true, ms(1), PARK);
      assertThat(pacing.giveUpIn(ms(100))).isEqualTo(Pacing.NEVER);
    }
  }

  @Nested
  class Other_news {

    @Test
    void ends_a_call_only_when_250_ms_have_passed() {
      pacing.reading();
      pacing.sent(ms(0), false);
      pacing.push();
      assertThat(pacing.giveUpIn(ms(100))).isEqualTo(ms(150));
      assertThat(pacing.giveUpIn(ms(250))).isZero();
    }
  }

  @Nested
  class Answers_at_once {

    private void answered(boolean news, long afterMillis) {
      pacing.reading();
      pacing.sent(ms(0), false);
      pacing.answered(news, ms(afterMillis), PARK);
    }

    @Test
    void with_news_never_cause_a_pause() {
      for (int i = 0; i < 50; i++) {
        answered(true, 1);
        assertThat(pacing.pauseNanos()).isZero();
      }
    }

    @Test
    void without_news_cause_a_pause_that_grows_and_is_bounded() {
      for (int i = 0; i < 3; i++) {
        answered(false, 1);
        assertThat(pacing.pauseNanos()).isZero();
      }
      answered(false, 1);
      assertThat(pacing.pauseNanos()).isEqualTo(ms(5));
      answered(false, 1);
      assertThat(pacing.pauseNanos()).isEqualTo(ms(10));
      for (int i = 0; i < 50; i++) {
        answered(false, 1);
      }
      assertThat(pacing.pauseNanos()).isEqualTo(ms(200));
    }

    @Test
    void a_parked_answer_ends_the_pauses() {
      for (int i = 0; i < 10; i++) {
        answered(false, 1);
      }
      answered(false, 5000);
      assertThat(pacing.pauseNanos()).isZero();
    }
  }
}
