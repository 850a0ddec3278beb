package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.ledger.Ledger.Taken;
import io.pgsteward.postgres.Backend;
import io.pgsteward.protocol.SyncRequest;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** How slots move between members and tenants. */
class CoordinatorTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Nested
  class Moving_a_slot {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());
    private final Participant a = scene.member("a");
    private final Participant b = scene.member("b");

    @Test
    void follows_lower_report_look_raise() {
      a.wants(WEB, 4);
      scene.look();
      assertThat(a.granted(WEB)).isEqualTo(4);

      a.apply();
      a.holds(WEB, 4).sync();
      a.wants(WEB, 0);
      b.wants(WORKER, 4);
      assertThat(a.granted(WEB)).as("lowered at once").isZero();
      assertThat(b.granted(WORKER)).as("nothing is free yet").isZero();

      a.sync();
      scene.look();
      assertThat(b.granted(WORKER)).as("the report named the older generation").isZero();

      a.epoch = a.answer().epoch();
      a.generation = a.answer().generation();
      a.goesBy(WEB, 0).holds(WEB, 1).sync();
      assertThat(b.granted(WORKER)).as("PostgreSQL was not asked yet").isZero();
      scene.look();
      assertThat(b.granted(WORKER)).isEqualTo(3);

      a.holds(WEB, 0).sync();
      scene.look();
      assertThat(b.granted(WORKER)).isEqualTo(4);
    }

    @Test
    void waits_for_a_backend_that_lingers_after_its_close() {
      a.wants(WEB, 4);
      scene.settle();
      a.holds(WEB, 4).sync();
      a.wants(WEB, 0);
      b.wants(WORKER, 4);
      a.epoch = a.answer().epoch();
      a.generation = a.answer().generation();
      int lingering = a.pids.values().iterator().next().get(3);
      Backend backend = scene.backends.get(lingering);
      a.goesBy(WEB, 0).holds(WEB, 0).sync();
      scene.backends.put(lingering, backend);
      scene.look();
      assertThat(b.granted(WORKER)).as("one backend is still there").isEqualTo(3);
      assertThat(scene.coordinator.nextLookNanos(scene.now()) - scene.now())
          .as("looks again soon")
          .isBetween(1L, 100_000_000L);

      scene.backends.remove(lingering);
      scene.after(Duration.ofMillis(50)).look();
      assertThat(b.granted(WORKER)).isEqualTo(4);
    }

    @Test
    void is_not_shown_by_a_look_that_began_before_the_report() {
      a.wants(WEB, 4);
      scene.settle();
      a.holds(WEB, 4).sync();
      a.wants(WEB, 0);
      b.wants(WORKER, 4);
      a.epoch = a.answer().epoch();
      a.generation = a.answer().generation();
      long before = scene.now();
      scene.after(Duration.ofMillis(3));
      a.goesBy(WEB, 0).holds(WEB, 0).sync();
      scene.lookBegun(before);
      assertThat(b.granted(WORKER)).isZero();
      scene.look();
      assertThat(b.granted(WORKER)).isEqualTo(4);
    }

    @Test
    void asks_for_a_look_at_once_when_a_release_waits_for_it() {
      a.wants(WEB, 4);
      scene.settle();
      a.holds(WEB, 4).sync();
      assertThat(scene.coordinator.nextLookNanos(scene.now())).isGreaterThan(scene.now());
      b.wants(WORKER, 4);
      a.apply();
      assertThat(scene.coordinator.nextLookNanos(scene.now())).isEqualTo(scene.now());
    }

    @Test
    void gives_a_lowered_member_its_slot_back_when_nobody_wants_it_any_more() {
      a.wants(WEB, 4);
      scene.settle();
      a.holds(WEB, 4).sync();
      b.wants(WORKER, 4);
      assertThat(a.granted(WEB)).isEqualTo(2);
      b.wants(WORKER, 0);
      scene.look();
      assertThat(a.granted(WEB)).isEqualTo(4);
    }

    @Test
    void is_not_started_by_a_report_older_than_the_last() {
      a.wants(WEB, 4);
      scene.settle();
      SyncRequest old = a.request();
      a.wants(WEB, 3);
      long generation = a.answer().generation();
      assertThat(scene.coordinator.sync(a.id, old, "127.0.0.1", scene.now()))
          .isEqualTo(Taken.STALE);
      scene.decide();
      assertThat(a.answer().generation()).isEqualTo(generation);
    }
  }

  @Nested
  class A_shrinking_budget {

    @Test
    void takes_back_before_it_gives() {
      Scene scene = Scene.serving(4, PolicyBooks.withDefault());
      Participant a = scene.member("a").wants(WEB, 4);
      scene.settle();
      a.holds(WEB, 4).sync();
      scene.budget(2);
      scene.look();
      Participant b = scene.member("b").wants(WORKER, 2);
      assertThat(a.granted(WEB)).isEqualTo(1);
      assertThat(b.granted(WORKER)).isZero();
      scene.settle();
      assertThat(b.granted(WORKER)).isEqualTo(1);
      scene.physicalFits(2);
    }
  }

  @Nested
  class Floors {

    @Test
    void hold_whoever_came_first() {
      Scene scene = Scene.serving(100, PolicyBooks.webAndWorker());
      Participant worker = scene.member("w").wants(WORKER, 90);
      scene.settle();
      assertThat(worker.granted(WORKER)).isEqualTo(90);
      worker.holds(WORKER, 90).sync();
      Participant web = scene.member("x").wants(WEB, 60);
      scene.settle();
      assertThat(web.granted(WEB)).isEqualTo(60);
      assertThat(worker.granted(WORKER)).isEqualTo(40);
    }

    @Test
    void that_do_not_fit_are_shown_as_unmet() {
      Scene scene = Scene.serving(20, PolicyBooks.webAndWorker());
      scene.member("w").wants(WORKER, 90);
      scene.member("x").wants(WEB, 60);
      scene.settle();
      assertThat(scene.granted(WEB)).isEqualTo(10);
      assertThat(scene.granted(WORKER)).isEqualTo(10);
      assertThat(scene.coordinator.unmetGuarantees()).isEqualTo(20);
    }
  }

  @Nested
  class Calm {

    @Test
    void nothing_moves_when_nothing_changed() {
      Scene scene = Scene.serving(100, PolicyBooks.webAndWorker());
      Participant web = scene.member("x").wants(WEB, 60);
      Participant worker = scene.member("w").wants(WORKER, 90);
      scene.settle();
      long generations = web.answer().generation() + worker.answer().generation();
      scene.live(Duration.ofSeconds(30));
      assertThat(web.answer().generation() + worker.answer().generation()).isEqualTo(generations);
    }

    @Test
    void unwanted_slots_stay_for_the_idle_hold_and_then_go_back_over_several_rounds() {
      Scene scene = Scene.serving(100, PolicyBooks.withDefault());
      Participant a = scene.member("a").wants(WEB, 40);
      scene.settle();
      a.wants(WEB, 0);
      scene.live(Duration.ofSeconds(58));
      assertThat(a.granted(WEB)).isEqualTo(40);
      scene.live(Duration.ofSeconds(4));
      assertThat(a.granted(WEB)).isEqualTo(30);
      scene.live(Duration.ofSeconds(5));
      assertThat(a.granted(WEB)).isEqualTo(22);
      scene.live(Duration.ofSeconds(60));
      assertThat(a.granted(WEB)).isZero();
    }

    @Test
    void two_members_share_evenly_and_rest() {
      Scene scene = Scene.serving(6, PolicyBooks.withDefault());
      Participant a = scene.member("a").wants(WEB, 10);
      scene.settle();
      a.holds(WEB, 6).sync();
      Participant b = scene.member("b").wants(WEB, 4);
      scene.live(SECOND);
      assertThat(a.granted(WEB)).isEqualTo(3);
      assertThat(b.granted(WEB)).isEqualTo(3);
    }
  }

  @Nested
  class Rotation {

    @Test
    void serves_every_member_in_turn() {
      Scene scene = Scene.serving(2, PolicyBooks.withDefault());
      for (String name : new String[] {"a", "b", "c", "d", "e"}) {
        scene.member(name).wants(WEB, 1);
      }
      Map<String, Long> served = new TreeMap<>();
      for (int i = 0; i < 40; i++) {
        scene.live(Duration.ofMillis(250));
        scene.participants.forEach(
            (name, p) -> served.merge(name, (long) p.granted(WEB), Long::sum));
      }
      assertThat(served.values())
          .as("quarter seconds with a slot: %s", served)
          .allMatch(n -> n >= 8);
    }
  }
}
