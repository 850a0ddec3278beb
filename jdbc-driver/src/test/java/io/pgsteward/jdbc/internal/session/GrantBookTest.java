package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.internal.session.GrantBook.Outcome;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Time is virtual: seconds since the start of the member. */
class GrantBookTest {

  private static final TenantId WEB = TenantId.of("web", "shop");
  private static final TenantId WORKER = TenantId.of("worker", "shop");
  private static final int LEASE = 15;

  private final GrantBook book = new GrantBook(at(0), TimeUnit.SECONDS.toNanos(LEASE));

  private static Moment at(double seconds) {
    return new Moment((long) (seconds * 1e9), 1_000_000 + (long) (seconds * 1000));
  }

  private static SyncResponse answer(
      long epoch, long generation, CoordinatorPhase phase, Map<TenantId, Integer> grants) {
    List<TenantGrant> tenants =
        new TreeMap<>(grants)
            .entrySet().stream()
                .map(e -> new TenantGrant(e.getKey().toString(), e.getValue(), null, 9, null))
                .toList();
    return new SyncResponse(
        1, "main", epoch, generation, phase, LEASE * 1000, 5000, 97, 9, tenants);
  }

  private static SyncResponse serving(long epoch, long generation, Map<TenantId, Integer> grants) {
    return answer(epoch, generation, CoordinatorPhase.SERVING, grants);
  }

  private static SyncResponse learning(long epoch, long generation, Map<TenantId, Integer> grants) {
    return answer(epoch, generation, CoordinatorPhase.LEARNING, grants);
  }

  @Nested
  class Joining {

    @Test
    void opens_nothing_before_the_first_exchange_has_an_end() {
      book.register(WEB, 2, 100);
      assertThat(book.limit(WEB)).isZero();
      assertThat(book.phase()).isEqualTo(MemberPhase.JOINING);
    }

    @Test
    void has_fallback_slots_once_the_first_exchange_has_failed() {
      book.register(WEB, 2, 100);
      book.firstExchangeFailed();
      assertThat(book.limit(WEB)).isEqualTo(2);
      assertThat(book.phase()).isEqualTo(MemberPhase.JOINING);
    }

    @Test
    void has_exactly_the_grant_after_the_first_answer() {
      book.register(WEB, 2, 100);
      book.register(WORKER, 2, 100);
      book.firstExchangeFailed();

      assertThat(book.answered(serving(7, 1, Map.of(WEB, 5)), at(1), at(1.1)))
          .isEqualTo(Outcome.APPLIED);

      assertThat(book.limits()).containsEntry(WEB, 5).containsEntry(WORKER, 0);
      assertThat(book.phase()).isEqualTo(MemberPhase.GRANTED);
    }

    @Test
    void says_that_it_goes_by_fallback_slots_until_there_was_a_grant() {
      book.register(WEB, 2, 100);
      assertThat(book.goingBy()).isEqualTo("until it answers each tenant has fallbackSlots=2");
      book.register(WORKER, 5, 100);
      assertThat(book.goingBy()).endsWith("fallbackSlots=2 to 5");
      book.answered(serving(7, 1, Map.of(WEB, 5)), at(1), at(1.1));
      assertThat(book.goingBy()).isEqualTo("connections go on within the last grant");
    }

    @Test
    void a_failure_after_the_first_answer_changes_nothing() {
      book.register(WEB, 2, 100);
      book.answered(serving(7, 1, Map.of()), at(1), at(1.1));
      book.firstExchangeFailed();
      assertThat(book.limit(WEB)).isZero();
    }
  }

  @Nested
  class Granted {

    @BeforeEach
    void grant_five_of_epoch_seven() {
      book.register(WEB, 2, 100);
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(1), at(1));
    }

    @ParameterizedTest
    @CsvSource({
      "7, 4, 8, APPLIED", // a later generation
      "8, 1, 8, APPLIED", // a later term
      "7, 3, 5, RENEWED", // the pair that was applied
      "7, 2, 5, OLDER", // counterexample 4: two answers overtook each other
      "6, 9, 5, OLDER", // counterexample 13: a leader of an earlier term
    })
    void only_a_newer_answer_changes_the_grant(
        long epoch, long generation, int limit, Outcome outcome) {
      assertThat(book.answered(serving(epoch, generation, Map.of(WEB, 8)), at(2), at(2)))
          .isEqualTo(outcome);
      assertThat(book.limit(WEB)).isEqualTo(limit);
    }

    @Test
    void an_older_answer_does_not_renew_the_lease() {
      book.answered(serving(7, 2, Map.of(WEB, 8)), at(10), at(10));
      assertThat(book.passed(at(16))).isTrue();
    }

    @Test
    void an_equal_answer_renews_the_lease_from_the_moment_its_request_was_sent() {
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(10), at(14));
      assertThat(book.passed(at(24.9))).isFalse();
      assertThat(book.passed(at(25.1))).isTrue();
    }

    @Test
    void the_book_names_what_was_applied() {
      book.answered(serving(7, 2, Map.of()), at(2), at(2));
      assertThat(book.epoch()).isEqualTo(7);
      assertThat(book.generation()).isEqualTo(3);
    }

    @Test
    void the_process_cap_bounds_the_grant() {
      book.register(WEB, 2, 3);
      assertThat(book.limit(WEB)).isEqualTo(3);
    }

    @Test
    void a_new_tenant_has_nothing_while_the_coordinator_serves() {
      book.register(WORKER, 2, 100);
      assertThat(book.limit(WORKER)).isZero();
    }

    @Test
    void the_wall_clock_counts_when_the_monotonic_clock_slept() {
      Moment afterSleep = new Moment(at(2).nanos(), at(1000).wallMillis());
      assertThat(book.passed(afterSleep)).isTrue();
    }

    @Test
    void a_wall_clock_set_back_does_not_lengthen_the_lease() {
      Moment setBack = new Moment(at(17).nanos(), at(0).wallMillis() - 3_600_000);
      assertThat(book.passed(setBack)).isTrue();
    }

    @Test
    void a_tenant_without_a_pool_is_named_until_its_grant_is_taken_back() {
      book.retire(WEB);
      assertThat(book.limits()).containsEntry(WEB, 5);

      book.answered(serving(7, 4, Map.of()), at(3), at(3));
      assertThat(book.limits()).isEmpty();
    }

    @Test
    void a_tenant_that_comes_back_has_what_the_coordinator_still_counts() {
      book.retire(WEB);
      book.register(WEB, 2, 100);
      assertThat(book.limit(WEB)).isEqualTo(5);
    }

    @Test
    void a_refusal_is_remembered_and_taken_back() {
      book.answered(refusing("not declared"), at(2), at(2));
      assertThat(book.refusals()).containsEntry(WEB, "not declared");

      book.answered(serving(7, 4, Map.of(WEB, 0)), at(3), at(3));
      assertThat(book.refusals()).isEmpty();
    }

    private SyncResponse refusing(String reason) {
      TenantGrant grant = new TenantGrant(WEB.toString(), 0, reason, 0, null);
      return new SyncResponse(
          1, "main", 7, 4, CoordinatorPhase.SERVING, LEASE * 1000, 5000, 97, 9, List.of(grant));
    }
  }

  @Nested
  class Fallback {

    @BeforeEach
    void lease_ends_with_a_grant_of_five_and_one_of_zero() {
      book.register(WEB, 2, 100);
      book.register(WORKER, 2, 100);
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(1), at(1));
      assertThat(book.limit(WORKER)).isZero();
      assertThat(book.passed(at(16.1))).isTrue();
    }

    @Test
    void each_tenant_goes_by_the_larger_of_its_last_grant_and_fallback_slots() {
      assertThat(book.phase()).isEqualTo(MemberPhase.FALLBACK);
      assertThat(book.limits()).containsEntry(WEB, 5).containsEntry(WORKER, 2);
    }

    @Test
    void a_new_tenant_has_fallback_slots() {
      TenantId late = TenantId.of("late", "shop");
      book.register(late, 3, 2);
      assertThat(book.limit(late)).as("3, capped at 2").isEqualTo(2);
    }

    @Test
    void a_tenant_found_without_a_connection_has_lost_its_grant() {
      // counterexample 1: the slot has gone to another member by now
      assertThat(book.emptied(WEB, book.lease().serial())).isTrue();
      assertThat(book.limit(WEB)).isEqualTo(2);
    }

    @Test
    void with_no_fallback_slots_a_lost_grant_leaves_nothing() {
      book.register(WEB, 0, 100);
      book.emptied(WEB, book.lease().serial());
      assertThat(book.limit(WEB)).isZero();
    }

    @Test
    void an_answer_sent_before_the_silence_changes_nothing_when_it_comes_after_it() {
      // counterexamples 1 and 2
      assertThat(book.answered(serving(7, 4, Map.of(WEB, 9)), at(2), at(17.1)))
          .isEqualTo(Outcome.LATE);
      assertThat(book.phase()).isEqualTo(MemberPhase.FALLBACK);
      assertThat(book.limit(WEB)).isEqualTo(5);
      assertThat(book.generation()).isEqualTo(3);
    }

    @Test
    void the_next_applied_answer_rules_again() {
      book.emptied(WEB, book.lease().serial());
      assertThat(book.answered(serving(8, 1, Map.of(WEB, 1)), at(20), at(20)))
          .isEqualTo(Outcome.APPLIED);
      assertThat(book.limits()).containsEntry(WEB, 1).containsEntry(WORKER, 0);
    }

    @Test
    void the_same_grant_heard_again_gives_a_lost_grant_back() {
      book.emptied(WEB, book.lease().serial());
      assertThat(book.answered(serving(7, 3, Map.of(WEB, 5)), at(20), at(20)))
          .isEqualTo(Outcome.APPLIED);
      assertThat(book.limit(WEB)).isEqualTo(5);
    }

    @Test
    void emptiness_under_an_earlier_lease_is_not_held_against_the_next() {
      long ended = book.lease().serial();
      book.answered(serving(7, 4, Map.of(WEB, 5)), at(20), at(20));
      book.passed(at(36));
      assertThat(book.emptied(WEB, ended)).isFalse();
      assertThat(book.limit(WEB)).isEqualTo(5);
    }
  }

  @Nested
  class Learning {

    @Test
    void a_learning_coordinator_takes_nothing_and_leaves_fallback_slots() {
      book.register(WEB, 2, 100);
      book.register(WORKER, 2, 100);
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(1), at(1));

      assertThat(book.answered(learning(8, 1, Map.of()), at(3), at(3))).isEqualTo(Outcome.APPLIED);

      assertThat(book.limits()).containsEntry(WEB, 5).containsEntry(WORKER, 2);
      assertThat(book.epoch()).isEqualTo(8);
    }

    @Test
    void what_it_grants_comes_on_top() {
      book.register(WEB, 2, 100);
      book.answered(learning(8, 1, Map.of(WEB, 6)), at(3), at(3));
      assertThat(book.limit(WEB)).isEqualTo(6);
    }

    @Test
    void a_grant_lost_before_is_not_found_again() {
      // counterexample 5: it may have been given away when learning ended
      book.register(WEB, 0, 100);
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(1), at(1));
      book.passed(at(17));
      book.emptied(WEB, book.lease().serial());

      book.answered(learning(8, 1, Map.of()), at(18), at(18));

      assertThat(book.limit(WEB)).isZero();
    }

    @Test
    void a_refused_tenant_has_nothing_at_once_and_others_are_not_touched() {
      book.register(WEB, 2, 100);
      book.register(WORKER, 2, 100);
      book.answered(refusing(8, 1), at(3), at(3));
      assertThat(book.limits()).containsEntry(WEB, 0).containsEntry(WORKER, 2);
      assertThat(book.refusals()).containsExactly(Map.entry(WEB, "not declared"));
    }

    @Test
    void what_an_earlier_term_granted_to_a_refused_tenant_is_taken() {
      book.register(WEB, 2, 100);
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(1), at(1));
      book.answered(refusing(8, 1), at(3), at(3));
      assertThat(book.limit(WEB)).isZero();
    }

    @Test
    void a_refusal_that_is_taken_back_leaves_fallback_slots() {
      book.register(WEB, 2, 100);
      book.answered(refusing(8, 1), at(3), at(3));
      book.answered(learning(9, 1, Map.of(WEB, 0)), at(4), at(4));
      assertThat(book.limit(WEB)).isEqualTo(2);
      assertThat(book.refusals()).isEmpty();
    }

    private SyncResponse refusing(long epoch, long generation) {
      TenantGrant grant = new TenantGrant(WEB.toString(), 0, "not declared", 0, 0);
      return new SyncResponse(
          1,
          "main",
          epoch,
          generation,
          CoordinatorPhase.LEARNING,
          LEASE * 1000,
          5000,
          97,
          9,
          List.of(grant));
    }

    @Test
    void its_end_brings_exact_grants() {
      book.register(WEB, 2, 100);
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(1), at(1));
      book.answered(learning(8, 1, Map.of(WEB, 5)), at(3), at(3));
      book.answered(serving(8, 2, Map.of(WEB, 4)), at(9), at(9));
      assertThat(book.limit(WEB)).isEqualTo(4);
    }

    @Test
    void its_end_without_a_new_generation_is_noticed() {
      book.register(WEB, 2, 100);
      book.answered(learning(8, 1, Map.of()), at(3), at(3));
      assertThat(book.limit(WEB)).isEqualTo(2);
      assertThat(book.answered(serving(8, 1, Map.of()), at(9), at(9))).isEqualTo(Outcome.APPLIED);
      assertThat(book.limit(WEB)).isZero();
    }
  }

  @Nested
  class Closed {

    @Test
    void nothing_may_be_held() {
      book.register(WEB, 2, 100);
      book.answered(serving(7, 3, Map.of(WEB, 5)), at(1), at(1));
      book.closed();
      assertThat(book.limit(WEB)).isZero();
    }
  }
}
