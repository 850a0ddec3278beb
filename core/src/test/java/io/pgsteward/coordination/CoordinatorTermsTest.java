package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.protocol.CoordinatorPhase;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** A term begins: after a restart, and after a lost lock. */
class CoordinatorTermsTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";
  private static final Duration SECOND = Duration.ofSeconds(1);

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
    void a_raise_that_was_possible_before_asks_for_no_looks_while_learning() {
      restart();
      scene.live(Scene.LEASE);
      scene.member("new").wants(WORKER, 1);
      assertThat(scene.coordinator.nextLookNanos(scene.now())).isEqualTo(scene.now());
      scene.coordinator.lead(Scene.EPOCH + 2, scene.now());
      scene.look();
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.LEARNING);
      assertThat(scene.coordinator.nextLookNanos(scene.now())).isGreaterThan(scene.now());
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
  class On_a_server_that_was_replaced_by_a_backup {

    private static final long LATER = 5_000;

    private final Scene scene = new Scene(4, PolicyBooks.withDefault(), true);

    private Participant ofALaterTerm(String name, int goesBy) {
      Participant member = scene.member(name).goesBy(WEB, goesBy);
      member.epoch = LATER;
      member.generation = 9;
      return member;
    }

    private void leads() {
      scene.coordinator.lead(Scene.EPOCH, scene.now());
      scene.look();
    }

    @Test
    void the_next_term_of_this_process_is_later_than_its_last() {
      leads();
      scene.live(Scene.LEASE);
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.SERVING);
      scene.coordinator.lead(Scene.EPOCH - 4, scene.now());
      assertThat(scene.coordinator.epoch()).isEqualTo(Scene.EPOCH + 1);
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.LEARNING);
    }

    @Test
    void a_member_of_a_later_term_begins_one_that_it_accepts() {
      leads();
      Participant old = ofALaterTerm("old", 3).wants(WEB, 4);
      Participant fresh = scene.member("new").wants(WORKER, 1);
      assertThat(old.answer().epoch()).as("not proved yet").isEqualTo(Scene.EPOCH);
      scene.after(SECOND).look();
      assertThat(old.answer().epoch()).isEqualTo(LATER + 1);
      assertThat(old.granted(WEB)).isEqualTo(3);

      scene.settle();
      scene.live(Scene.LEASE.minus(SECOND));
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.LEARNING);
      assertThat(fresh.granted(WORKER)).isZero();
      scene.live(SECOND);
      assertThat(scene.coordinator.epoch()).isEqualTo(LATER + 1);
      assertThat(fresh.granted(WORKER)).isEqualTo(1);
    }

    @Test
    void a_look_is_asked_for_at_once() {
      leads();
      scene.live(Scene.LEASE);
      assertThat(scene.coordinator.nextLookNanos(scene.now())).isGreaterThan(scene.now());
      ofALaterTerm("old", 0).sync();
      assertThat(scene.coordinator.nextLookNanos(scene.now())).isEqualTo(scene.now());
    }

    @Test
    void a_look_that_began_before_the_report_does_not_prove_that_the_named_term_is_over() {
      leads();
      long before = scene.now();
      scene.after(SECOND);
      ofALaterTerm("old", 3).sync();
      scene.lookBegun(before);
      assertThat(scene.coordinator.epoch()).isEqualTo(Scene.EPOCH);
    }

    @Test
    void a_coordinator_that_no_longer_leads_begins_nothing() {
      leads();
      ofALaterTerm("old", 3).sync();
      scene.coordinator.follow("10.0.0.9:7432", "10.0.0.9:7432");
      scene.after(SECOND).look();
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.STANDBY);
      assertThat(scene.coordinator.epoch()).isEqualTo(Scene.EPOCH);
      scene.coordinator.lead(Scene.EPOCH + 1, scene.now());
      assertThat(scene.coordinator.epoch()).as("when it leads again").isEqualTo(LATER + 1);
    }

    @Test
    void a_term_that_no_server_can_have_is_not_believed() {
      leads();
      Participant broken = ofALaterTerm("broken", 0);
      broken.epoch = Long.MAX_VALUE;
      broken.sync();
      scene.after(SECOND).look();
      assertThat(scene.coordinator.epoch()).isEqualTo(Scene.EPOCH);
    }
  }
}
