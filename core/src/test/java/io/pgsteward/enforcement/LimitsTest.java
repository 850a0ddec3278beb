package io.pgsteward.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.enforcement.LimitPlanner.Changes;
import io.pgsteward.enforcement.LimitPlanner.Need;
import io.pgsteward.testing.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

class LimitsTest {

  private final LimitBook book = new LimitBook();
  private long now = 1_000;

  private void look(Map<String, Integer> limits, Map<String, Integer> seen) {
    book.observed(limits, seen, now, now + 1);
    now += 10;
  }

  private void commit(Map<String, Integer> limits) {
    book.attempting(limits);
    book.committed(limits, now);
    now += 10;
  }

  private Changes plan(int budget, Need... needs) {
    return LimitPlanner.plan(budget, book, List.of(needs));
  }

  @Nested
  class Counting {

    @Test
    void a_lowering_counts_at_the_old_limit_until_a_look_that_began_after_it() {
      look(Map.of("web", 10), Map.of("web", 2));
      long before = now;
      commit(Map.of("web", 4));
      assertThat(book.counts()).isEqualTo(10);
      book.observed(Map.of("web", 4), Map.of("web", 2), before - 1, now);
      assertThat(book.counts()).as("the look began before the commit").isEqualTo(10);
      look(Map.of("web", 4), Map.of("web", 5));
      assertThat(book.counts()).as("what was seen is more than the limit").isEqualTo(5);
      look(Map.of("web", 4), Map.of("web", 3));
      assertThat(book.counts()).isEqualTo(4);
    }

    @Test
    void a_raise_counts_from_its_sending_on_and_if_it_failed_until_a_look_shows_it() {
      look(Map.of("web", 2), Map.of());
      book.attempting(Map.of("web", 6));
      assertThat(book.counts()).isEqualTo(6);
      book.unknown(Map.of("web", 6), now++);
      look(Map.of("web", 2), Map.of());
      assertThat(book.counts()).isEqualTo(2);
      assertThat(book.limit("web")).isEqualTo(2);
    }

    @Test
    void a_raise_of_which_nobody_knew_is_found_and_is_no_other_hands() {
      look(Map.of("web", 2), Map.of());
      book.attempting(Map.of("web", 6));
      book.unknown(Map.of("web", 6), now++);
      assertThat(book.observed(Map.of("web", 6), Map.of(), now, now + 1)).isEmpty();
      assertThat(book.limit("web")).isEqualTo(6);
    }

    @Test
    void a_role_without_a_limit_counts_without_end_until_its_first_limit_is_proven() {
      look(Map.of("web", -1, "worker", 3), Map.of("web", 4));
      assertThat(book.counts()).isEqualTo(Long.MAX_VALUE);
      commit(Map.of("web", 4));
      assertThat(book.counts()).isEqualTo(Long.MAX_VALUE);
      look(Map.of("web", 4, "worker", 3), Map.of("web", 4));
      assertThat(book.counts()).isEqualTo(7);
    }

    @Test
    void another_hand_is_told_once() {
      look(Map.of("web", 10), Map.of("web", 8));
      assertThat(book.observed(Map.of("web", 2), Map.of("web", 8), now, now + 1))
          .containsExactly("web");
      now += 10;
      assertThat(book.counts()).as("until a look that began after it was found").isEqualTo(10);
      assertThat(book.observed(Map.of("web", 2), Map.of("web", 8), now, now + 1)).isEmpty();
      assertThat(book.counts()).isEqualTo(8);
    }

    @Test
    void a_dropped_role_counts_nothing() {
      look(Map.of("web", 10, "worker", 3), Map.of());
      look(Map.of("worker", 3), Map.of());
      assertThat(book.counts()).isEqualTo(3);
    }
  }

  @Nested
  class Planning {

    @Test
    void a_limit_follows_what_members_may_hold() {
      look(Map.of("web", 10), Map.of("web", 3));
      assertThat(plan(20, new Need("web", 6, 0, 0)).lowerings()).isEqualTo(Map.of("web", 6));
      assertThat(plan(20, new Need("web", 6, 7, 0)).raisings()).isEqualTo(Map.of("web", 13));
    }

    @Test
    void it_never_goes_below_what_is_in_use() {
      look(Map.of("web", 10), Map.of("web", 9));
      assertThat(plan(20, new Need("web", 2, 0, 0)).lowerings()).isEqualTo(Map.of("web", 9));
    }

    @Test
    void a_lowering_pays_for_a_raise_only_once_it_is_proven() {
      look(Map.of("web", 10, "worker", 0), Map.of());
      Need web = new Need("web", 4, 0, 0);
      Need worker = new Need("worker", 0, 6, 0);
      Changes first = plan(10, web, worker);
      assertThat(first).isEqualTo(new Changes(Map.of("web", 4), Map.of()));
      commit(first.inOrder());
      assertThat(plan(10, web, worker).isEmpty()).isTrue();
      look(Map.of("web", 4, "worker", 0), Map.of());
      assertThat(plan(10, web, worker)).isEqualTo(new Changes(Map.of(), Map.of("worker", 6)));
    }

    @Test
    void what_is_left_is_headroom_up_to_the_guarantees() {
      look(Map.of("a", 0, "b", 0, "c", 0), Map.of());
      Changes changes =
          plan(10, new Need("a", 0, 0, 4), new Need("b", 0, 0, 2), new Need("c", 3, 0, 0));
      assertThat(changes.raisings()).isEqualTo(Map.of("c", 3, "a", 4, "b", 2));
      commit(changes.inOrder());
      look(Map.of("a", 4, "b", 2, "c", 3), Map.of());
      assertThat(plan(10, new Need("a", 0, 0, 4), new Need("b", 0, 0, 2), new Need("c", 3, 0, 0)))
          .as("nothing moves when nothing changed")
          .isEqualTo(Changes.NONE);
    }

    @Test
    void headroom_goes_first_when_another_needs_more() {
      look(Map.of("a", 4, "c", 3), Map.of());
      Changes changes = plan(7, new Need("a", 0, 0, 4), new Need("c", 3, 2, 0));
      assertThat(changes).isEqualTo(new Changes(Map.of("a", 2), Map.of()));
    }

    @Test
    void while_the_budget_shrinks_no_limit_rises() {
      look(Map.of("a", 6, "b", 4), Map.of("a", 6, "b", 2));
      Changes changes = plan(8, new Need("a", 6, 2, 0), new Need("b", 4, 1, 0));
      assertThat(changes).isEqualTo(Changes.NONE);
    }

    @Test
    void a_role_without_a_limit_gets_one_and_nothing_is_raised_before_that_is_proven() {
      look(Map.of("a", -1, "b", 0), Map.of("a", 2));
      Changes changes = plan(100, new Need("a", 3, 0, 0), new Need("b", 0, 5, 0));
      assertThat(changes).isEqualTo(new Changes(Map.of("a", 3), Map.of()));
    }

    @Test
    void a_role_that_nobody_speaks_of_keeps_what_it_has_in_use() {
      look(Map.of("a", 5), Map.of("a", 2));
      assertThat(plan(100).lowerings()).isEqualTo(Map.of("a", 2));
    }
  }

  /** Limits as PostgreSQL keeps them, logins that come whenever they are let in. */
  @ExtendWith(Seeds.class)
  @RepeatedTest(50)
  void whatever_happens_the_connections_stay_within_the_budget(Random random) {
    List<String> roles = List.of("a", "b", "c");
    Map<String, Integer> limits = new TreeMap<>();
    Map<String, Integer> live = new HashMap<>();
    int budget = 5 + random.nextInt(20);
    roles.forEach(role -> limits.put(role, random.nextInt(5) == 0 ? -1 : random.nextInt(4)));
    boolean adopted = false;
    for (int step = 0; step < 2_000; step++) {
      logins(random, roles, limits, live, adopted);
      Map<String, Integer> shown = new HashMap<>(live);
      long started = now++;
      Map<String, Integer> shownLimits = new TreeMap<>(limits);
      logins(random, roles, limits, live, adopted);
      book.observed(shownLimits, shown, started, now++);
      logins(random, roles, limits, live, adopted);
      change(random, budget, roles, limits, live, adopted);
      adopted |= book.counts() <= budget;
      if (adopted) {
        assertThat(live.values().stream().mapToInt(Integer::intValue).sum())
            .as("live %s, limits %s", live, limits)
            .isLessThanOrEqualTo(budget);
        assertThat(limits.values().stream().mapToInt(Integer::intValue).sum())
            .as("limits %s", limits)
            .isLessThanOrEqualTo(budget);
      }
    }
  }

  private void change(
      Random random,
      int budget,
      List<String> roles,
      Map<String, Integer> limits,
      Map<String, Integer> live,
      boolean adopted) {
    List<Need> needs = new ArrayList<>();
    for (String role : roles) {
      needs.add(new Need(role, random.nextInt(6), random.nextInt(6), random.nextInt(6)));
    }
    Map<String, Integer> changes = LimitPlanner.plan(budget, book, needs).inOrder();
    book.attempting(changes);
    boolean done = random.nextInt(4) > 0;
    boolean known = random.nextInt(4) > 0;
    logins(random, roles, limits, live, adopted);
    if (done) {
      limits.putAll(changes);
    }
    logins(random, roles, limits, live, adopted);
    if (done && known) {
      book.committed(changes, now++);
    } else {
      book.unknown(changes, now++);
    }
  }

  private static void logins(
      Random random,
      List<String> roles,
      Map<String, Integer> limits,
      Map<String, Integer> live,
      boolean adopted) {
    for (int i = random.nextInt(4); i > 0; i--) {
      String role = roles.get(random.nextInt(roles.size()));
      int has = live.getOrDefault(role, 0);
      int limit = limits.getOrDefault(role, 0);
      boolean in = limit < 0 ? has < 3 && !adopted : has < limit;
      if (random.nextBoolean() && in) {
        live.put(role, has + 1);
      } else if (has > 0 && random.nextBoolean()) {
        live.put(role, has - 1);
      }
    }
  }
}
