package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Time is virtual; the lease is that of the fake coordinator, 15 s. */
class LostGrantsTest {

  private static final TenantId WEB = TenantId.of("web", "shop");
  private static final int GRANT = 9;
  private static final int FALLBACK = 2;

  private long seconds;
  private final MemberClock clock =
      new MemberClock(() -> TimeUnit.SECONDS.toNanos(seconds), () -> 0);
  private final GrantBook book = new GrantBook(clock.now(), TimeUnit.SECONDS.toNanos(15));
  private final LostGrants lost = new LostGrants(clock, book.lease());

  @BeforeEach
  void nine_slots_are_granted() {
    book.register(WEB, FALLBACK, 100);
    answered(1);
    assertThat(book.limit(WEB)).isEqualTo(GRANT);
  }

  private void answered(long generation) {
    book.answered(
        FakeCoordinator.answerOf(
            7, generation, CoordinatorPhase.SERVING, 15_000, Map.of("web@shop", GRANT)),
        clock.now(),
        clock.now());
    lost.renewed(book.lease());
  }

  private int opensFromEmpty() {
    return lost.limitFromEmpty(WEB, GRANT, FALLBACK);
  }

  /** One turn of the session in which nothing comes between. */
  private void turn() {
    lost.tell(book);
    lost.applied();
  }

  @Test
  void nothing_is_lost_while_the_lease_holds() {
    seconds = 14;
    assertThat(opensFromEmpty()).isEqualTo(GRANT);
    assertThat(lost.isAnyUntold()).isFalse();
  }

  @Test
  void a_limit_within_fallback_slots_is_no_grant_to_lose() {
    seconds = 16;
    assertThat(lost.limitFromEmpty(WEB, FALLBACK, FALLBACK)).isEqualTo(FALLBACK);
    assertThat(lost.isAnyUntold()).isFalse();
  }

  @Nested
  class After_the_end_of_the_lease {

    @BeforeEach
    void the_lease_ends() {
      seconds = 16;
    }

    @Test
    void a_pool_that_opens_from_nothing_goes_by_fallback_slots_before_the_book_knows() {
      turn();
      assertThat(opensFromEmpty()).isEqualTo(FALLBACK);
      assertThat(lost.isAnyUntold()).isTrue();
      turn();
      assertThat(book.limit(WEB)).isEqualTo(FALLBACK);
      assertThat(lost.isAnyUntold()).isFalse();
    }

    @Test
    void a_loss_that_the_pool_saw_before_the_book_noticed_the_end_is_not_dropped() {
      assertThat(opensFromEmpty()).isEqualTo(FALLBACK);
      assertThat(book.phase()).isEqualTo(MemberPhase.GRANTED);
      assertThat(lost.tell(book)).as("the lease ended").isTrue();
      assertThat(book.limit(WEB)).isEqualTo(FALLBACK);
    }

    @Test
    void a_pool_that_loses_its_grant_while_limits_are_applied_opens_nothing_until_the_next_turn() {
      lost.tell(book);
      assertThat(book.limit(WEB)).as("on its way to the pool").isEqualTo(GRANT);
      assertThat(opensFromEmpty()).isZero();
      lost.applied();
      assertThat(lost.isAnyUntold()).as("another turn is taken at once").isTrue();
      lost.tell(book);
      assertThat(book.limit(WEB)).isEqualTo(FALLBACK);
      assertThat(lost.limitFromEmpty(WEB, FALLBACK, FALLBACK)).isEqualTo(FALLBACK);
    }

    @Test
    void a_loss_under_an_earlier_lease_is_not_held_against_the_next() {
      assertThat(opensFromEmpty()).isEqualTo(FALLBACK);
      answered(2);
      turn();
      assertThat(book.limit(WEB)).isEqualTo(GRANT);
      assertThat(lost.isAnyUntold()).isFalse();
    }
  }
}
