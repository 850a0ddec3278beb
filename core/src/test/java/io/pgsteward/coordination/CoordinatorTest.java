package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.ledger.Ledger.Taken;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.postgres.Backend;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.StatusResponse.StrayStatus;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.TenantReport;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

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
  class A_login_in_progress {

    private final Scene scene = Scene.serving(10, PolicyBooks.withDefault());

    private void logins(int inProgress) {
      for (int i = 0; i < inProgress; i++) {
        scene.backends.put(9_000 + i, new Backend(9_000 + i, null, null, false));
      }
    }

    @Test
    void is_not_foreign_while_a_member_may_be_opening_what_it_was_granted() {
      Participant a = scene.member("a").wants(WEB, 8);
      scene.settle();
      logins(8);
      scene.look();
      assertThat(scene.coordinator.status(scene.now()).budget().total()).isEqualTo(10);
      assertThat(a.granted(WEB)).isEqualTo(8);
    }

    @Test
    void is_foreign_beyond_that() {
      scene.member("a").wants(WEB, 8);
      scene.settle();
      scene.member("a").holds(WEB, 6).sync();
      logins(3);
      scene.look();
      assertThat(scene.coordinator.status(scene.now()).budget().total()).isEqualTo(9);
    }
  }

  @Nested
  class Parking {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());
    private final Participant a = scene.member("a");

    @Test
    void begins_once_the_member_knows_its_grants() {
      SyncRequest first = a.wants(WEB, 2).request();
      a.sync(first);
      assertThat(scene.coordinator.answersAtOnce(a.id, first)).as("another epoch").isTrue();
      scene.settle();
      SyncRequest second = a.request();
      a.sync(second);
      assertThat(scene.coordinator.answersAtOnce(a.id, second)).isFalse();
    }

    @Test
    void ends_when_a_grant_changes() {
      a.wants(WEB, 4);
      scene.settle();
      scene.coordinator.drainChanged();
      scene.member("b").wants(WORKER, 4);
      assertThat(scene.coordinator.drainChanged()).contains(a.id);
    }

    @Test
    void does_not_begin_for_a_member_that_goes_by_other_limits() {
      a.wants(WEB, 2);
      scene.settle();
      SyncRequest inFallback = a.goesBy(WEB, 3).request();
      a.sync(inFallback);
      assertThat(scene.coordinator.answersAtOnce(a.id, inFallback)).isTrue();
    }
  }

  @Nested
  class A_silent_member {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());
    private final Participant dead = scene.member("dead");
    private final Participant b = scene.member("b");

    private void die() {
      dead.wants(WEB, 4);
      scene.settle();
      dead.holds(WEB, 4).sync();
      dead.dies();
      b.wants(WORKER, 4);
    }

    @Test
    void keeps_its_slots_while_postgresql_shows_a_backend_of_it() {
      die();
      scene.live(Duration.ofMinutes(2));
      assertThat(b.granted(WORKER)).isZero();
    }

    @Test
    void is_forgotten_one_lease_and_one_connect_timeout_later_when_nothing_is_left() {
      die();
      dead.losesItsBackends();
      scene.live(Scene.LEASE.plus(Scene.CONNECT_TIMEOUT).minus(SECOND));
      assertThat(b.granted(WORKER)).as("time alone frees nothing").isZero();
      scene.live(SECOND.multipliedBy(2));
      assertThat(b.granted(WORKER)).isEqualTo(4);
      assertThat(scene.coordinator.status(scene.now()).members()).hasSize(1);
    }

    @Test
    void keeps_its_slots_while_a_backend_that_nobody_claims_may_be_its_own() {
      die();
      dead.losesItsBackends();
      scene.pid(TenantId.parse(WEB));
      scene.live(Duration.ofMinutes(2));
      assertThat(b.granted(WORKER)).isZero();
    }

    @Test
    void counts_at_what_it_goes_by_when_it_comes_back() {
      die();
      dead.losesItsBackends();
      scene.live(Scene.LEASE.plus(Scene.CONNECT_TIMEOUT).plus(SECOND.multipliedBy(2)));
      dead.goesBy(WEB, 2).holds(WEB, 0);
      dead.sync();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(6);
      assertThat(b.granted(WORKER)).as("goes down for the one that returned").isEqualTo(2);
    }
  }

  @Nested
  class A_leaving_member {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());
    private final Participant a = scene.member("a");
    private final Participant b = scene.member("b");

    @Test
    void gives_slots_back_one_by_one_as_they_close() {
      a.wants(WEB, 4);
      scene.settle();
      a.holds(WEB, 4).sync();
      b.wants(WORKER, 4);
      a.leaving = true;
      a.wants(WEB, 0);
      a.holds(WEB, 1).sync();
      scene.look();
      assertThat(b.granted(WORKER)).isEqualTo(3);
      a.holds(WEB, 0).sync();
      scene.look();
      assertThat(b.granted(WORKER)).isEqualTo(4);
    }

    @Test
    void has_its_last_request_answered_with_no_older_generation() {
      a.wants(WEB, 4);
      scene.settle();
      long seen = a.answer().generation();
      a.leaving = true;
      a.wants(WEB, 0);
      scene.look();
      assertThat(scene.coordinator.ledger().member(a.id)).as("dropped").isNull();
      assertThat(a.answer().generation()).isGreaterThanOrEqualTo(seen);
      assertThat(a.answer().tenants()).isEmpty();
    }

    @Test
    void is_not_revived_by_a_delayed_request() {
      a.wants(WEB, 4);
      scene.settle();
      SyncRequest delayed = a.request();
      a.leaving = true;
      a.wants(WEB, 0);
      scene.look();
      assertThatThrownBy(() -> a.sync(delayed))
          .isInstanceOf(SyncRefusedException.class)
          .hasMessageContaining("has left");
    }
  }

  @Nested
  class After_a_restart {

    private final Scene scene = new Scene(4, PolicyBooks.withDefault(), true);

    private void restart() {
      scene.coordinator.lead(Scene.EPOCH + 1, scene.now());
      scene.look();
    }

    @Test
    void members_keep_what_they_go_by_and_nothing_is_granted() {
      restart();
      Participant old = scene.member("old").goesBy(WEB, 3);
      old.epoch = Scene.EPOCH;
      old.generation = 5;
      old.holds(WEB, 2).wants(WEB, 4);
      Participant fresh = scene.member("new").wants(WORKER, 4);
      scene.look();
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.LEARNING);
      assertThat(old.granted(WEB)).isEqualTo(3);
      assertThat(fresh.granted(WORKER)).isZero();
    }

    @Test
    void a_member_without_grants_keeps_its_fallback_slots() {
      restart();
      Participant fresh = scene.member("new").goesBy(WORKER, 2).wants(WORKER, 4);
      assertThat(fresh.granted(WORKER)).isEqualTo(2);
    }

    @Test
    void learning_ends_after_one_lease_and_everybody_is_told() {
      restart();
      Participant old = scene.member("old").goesBy(WEB, 3).wants(WEB, 4);
      Participant fresh = scene.member("new").wants(WORKER, 1);
      scene.settle();
      scene.coordinator.drainChanged();
      scene.live(Scene.LEASE);
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.SERVING);
      assertThat(old.granted(WEB)).isEqualTo(3);
      assertThat(fresh.granted(WORKER)).isEqualTo(1);
    }

    @Test
    void a_report_from_before_the_last_raise_does_not_lower_what_it_counts() {
      restart();
      Participant old = scene.member("old").goesBy(WEB, 4);
      old.epoch = Scene.EPOCH;
      old.wants(WEB, 4);
      scene.live(Scene.LEASE.minus(SECOND));
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(4);
      assertThat(old.granted(WEB)).isEqualTo(4);
    }

    @Test
    void a_lost_lock_starts_a_new_term_with_the_ledger_kept() {
      Scene serving = Scene.serving(4, PolicyBooks.withDefault());
      Participant a = serving.member("a").wants(WEB, 4);
      serving.settle();
      serving.coordinator.lead(Scene.EPOCH + 1, serving.now());
      serving.look();
      assertThat(serving.coordinator.ledger().counted()).isEqualTo(4);
      assertThat(a.answer().epoch()).isEqualTo(Scene.EPOCH + 1);
      assertThat(a.granted(WEB)).isEqualTo(4);
    }
  }

  @Nested
  class Strays {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());

    @Test
    void are_deducted_and_shown() {
      scene.pid(TenantId.parse(WEB));
      Participant a = scene.member("a").wants(WORKER, 4);
      scene.settle();
      assertThat(a.granted(WORKER)).isEqualTo(3);
      assertThat(scene.coordinator.status(scene.now()).strays())
          .containsExactly(new StrayStatus("web", "shop", 1));
    }

    @Test
    void are_not_a_members_new_connections() {
      Participant a = scene.member("a").wants(WEB, 4);
      scene.settle();
      scene.pid(TenantId.parse(WEB));
      scene.look();
      assertThat(scene.coordinator.strays()).as("the member may have opened it").isZero();
      assertThat(a.granted(WEB)).isEqualTo(4);
    }

    @Test
    void are_known_once_the_member_has_reported_twice_without_them() {
      Participant a = scene.member("a").wants(WEB, 4);
      scene.settle();
      scene.pid(TenantId.parse(WEB));
      scene.live(SECOND);
      assertThat(scene.coordinator.strays()).isEqualTo(1);
      assertThat(a.granted(WEB)).isEqualTo(3);
    }
  }

  @Nested
  class A_refused_tenant {

    @Test
    void is_told_why_and_costs_nothing() {
      PolicyBook named = PolicyBooks.named(WEB);
      Scene scene = Scene.serving(4, named);
      Participant a = scene.member("a").wants("stranger@shop", 2);
      scene.settle();
      assertThat(a.answer().tenants())
          .singleElement()
          .satisfies(
              grant -> {
                assertThat(grant.grant()).isZero();
                assertThat(grant.refused()).contains("stranger@shop");
              });
      SyncRequest again = a.request();
      a.sync(again);
      assertThat(scene.coordinator.answersAtOnce(a.id, again)).as("told once").isFalse();
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

  @Nested
  class Requests_that_break_the_protocol {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());

    @Test
    void change_nothing() {
      Participant a = scene.member("a");
      assertThatThrownBy(() -> a.wants(WEB, 1).sync(twice(a)))
          .isInstanceOf(SyncRefusedException.class)
          .hasMessageContaining("web@shop is reported twice");
      assertThat(scene.coordinator.ledger().member(a.id)).isNotNull();
    }

    private SyncRequest twice(Participant a) {
      SyncRequest one = a.request();
      List<TenantReport> both = List.of(one.tenants().get(0), one.tenants().get(0));
      return new SyncRequest(1, null, "", one.sequence() + 1, 0, 0, 0, one.phase(), false, both);
    }

    @Test
    void are_refused_while_another_leads() {
      scene.coordinator.follow("10.0.0.9:7432");
      assertThatThrownBy(() -> scene.member("a").wants(WEB, 1))
          .isInstanceOf(SyncRefusedException.class)
          .hasMessageContaining("10.0.0.9:7432");
    }
  }
}
