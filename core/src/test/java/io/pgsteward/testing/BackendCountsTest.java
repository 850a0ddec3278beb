package io.pgsteward.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.testing.BackendCounts.Excess;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class BackendCountsTest {

  private final List<BackendSession> sessions = new ArrayList<>();
  private long order;

  @Test
  void the_peak_of_a_span_counts_what_was_there_before_it() {
    began(1, 10);
    began(2, 20);
    ended(1, 30);
    assertThat(counts().peak(25, 40)).isEqualTo(new Peak(2, 25));
    assertThat(counts().peak(31, 40)).isEqualTo(new Peak(1, 31));
    assertThat(counts().peak(0, 5)).isEqualTo(Peak.NONE);
    assertThat(counts().at(9)).isZero();
    assertThat(counts().at(20)).isEqualTo(2);
  }

  @Test
  void beginnings_are_counted_by_span() {
    began(1, 10);
    ended(1, 15);
    began(2, 20);
    assertThat(counts().begun(0, 30)).isEqualTo(2);
    assertThat(counts().begun(11, 30)).isEqualTo(1);
  }

  @Nested
  class AgainstABudget {

    @Test
    void the_budget_may_be_reached_and_not_passed() {
      BudgetTimeline two = new BudgetTimeline().seen(0, 2);
      began(1, 10);
      began(2, 20);
      assertThat(counts().above(two, 0)).isEmpty();
      began(3, 30);
      assertThat(counts().above(two, 0)).containsExactly(new Excess(30, 3, 2));
    }

    @Test
    void what_was_held_when_the_budget_fell_is_allowed() {
      BudgetTimeline falls = new BudgetTimeline().seen(0, 3).seen(50, 1);
      began(1, 10);
      began(2, 20);
      began(3, 30);
      ended(1, 60);
      ended(2, 70);
      assertThat(counts().above(falls, 0)).isEmpty();
    }

    @Test
    void nothing_is_replaced_until_the_rest_fits() {
      BudgetTimeline falls = new BudgetTimeline().seen(0, 3).seen(50, 1);
      began(1, 10);
      began(2, 20);
      began(3, 30);
      ended(1, 60);
      began(4, 65);
      assertThat(counts().above(falls, 0)).containsExactly(new Excess(65, 3, 2));
    }

    @Test
    void a_connection_under_way_when_the_budget_fell_is_within_the_grace() {
      BudgetTimeline falls = new BudgetTimeline().seen(0, 2).seen(50, 1);
      began(1, 10);
      began(2, 60);
      assertThat(counts().above(falls, 0)).containsExactly(new Excess(60, 2, 1));
      assertThat(counts().above(falls, 20)).isEmpty();
    }

    @Test
    void the_grace_allows_no_more_than_the_budget_before() {
      BudgetTimeline falls = new BudgetTimeline().seen(0, 2).seen(50, 1);
      began(1, 10);
      began(2, 20);
      began(3, 60);
      assertThat(counts().above(falls, 20)).containsExactly(new Excess(60, 3, 2));
    }

    @Test
    void before_the_first_look_nothing_is_judged() {
      began(1, 10);
      began(2, 20);
      assertThat(counts().above(new BudgetTimeline().seen(30, 1), 0)).isEmpty();
    }

    @Test
    void a_rise_is_dated_from_the_look_before() {
      BudgetTimeline rises = new BudgetTimeline().seen(0, 1).seen(20, 1).seen(40, 2);
      assertThat(rises.entries())
          .containsExactly(new BudgetTimeline.Entry(0, 1), new BudgetTimeline.Entry(20, 2));
      assertThatThrownBy(() -> rises.seen(39, 1)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  private BackendCounts counts() {
    return BackendCounts.of(sessions, session -> true);
  }

  private void began(int pid, long millis) {
    sessions.add(
        new BackendSession(
            pid, "web", "shop", "", ++order, millis, Long.MAX_VALUE, Long.MAX_VALUE));
  }

  private void ended(int pid, long millis) {
    sessions.replaceAll(
        s ->
            s.pid() == pid
                ? new BackendSession(
                    pid, "web", "shop", "", s.start(), s.startMillis(), ++order, millis)
                : s);
  }
}
