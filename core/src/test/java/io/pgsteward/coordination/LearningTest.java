package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** How a coordinator learns while PostgreSQL keeps roles to limits (rule S8). */
class LearningTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";
  private static final Duration SECOND = Duration.ofSeconds(1);

  private final Scene scene = Scene.enforcing(8, PolicyBooks.withDefault(), "web", "worker");
  private final Participant a = scene.member("a");
  private final Participant b = scene.member("b");

  @BeforeEach
  void two_members_hold_what_they_were_granted() {
    a.wants(WEB, 5);
    b.wants(WORKER, 3);
    scene.settle();
    a.holds(WEB, 5).sync();
    b.holds(WORKER, 2).sync();
    scene.restart(); // the first coordinator of a scene does not learn
    scene.live(SECOND.multipliedBy(2));
    assertThat(phase()).isEqualTo(CoordinatorPhase.SERVING);
  }

  private CoordinatorPhase phase() {
    return scene.coordinator.phase();
  }

  @Nested
  class It_ends {

    @Test
    void once_everybody_of_whom_postgresql_shows_anything_has_named_the_new_epoch() {
      scene.restart();
      scene.live(SECOND);
      assertThat(phase()).isEqualTo(CoordinatorPhase.SERVING);
      assertThat(a.granted(WEB)).isEqualTo(5);
      assertThat(b.granted(WORKER)).isEqualTo(3);
      assertThat(scene.limits).containsEntry("web", 5).containsEntry("worker", 3);
    }

    @Test
    void when_nobody_is_there_since_limits_bound_whoever_may_come() {
      a.losesItsBackends().dies();
      b.losesItsBackends().dies();
      scene.restart();
      scene.look();
      assertThat(phase()).as("the limits were just found").isEqualTo(CoordinatorPhase.LEARNING);
      scene.after(SECOND).look();
      assertThat(phase()).isEqualTo(CoordinatorPhase.SERVING);
    }

    @Test
    void and_who_comes_later_counts_at_what_it_goes_by() {
      b.losesItsBackends().dies();
      scene.restart();
      a.willWant(WEB, 8);
      scene.live(SECOND.multipliedBy(2));
      assertThat(a.granted(WEB)).isEqualTo(8);
      b.holds(WORKER, 0).sync();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(11);
      assertThat(a.granted(WEB)).isLessThan(8);
    }

    @Test
    void though_a_member_of_the_ledger_is_silent_and_nothing_of_it_is_left() {
      b.losesItsBackends().dies();
      scene.live(Scene.LEASE.plus(SECOND));
      scene.coordinator.lead(scene.coordinator.epoch() + 1, scene.now());
      scene.live(SECOND);
      assertThat(scene.coordinator.ledger().member(b.id)).as("not forgotten").isNotNull();
      assertThat(phase()).isEqualTo(CoordinatorPhase.SERVING);
    }
  }

  @Nested
  class It_lasts_one_lease {

    private void lasts_one_lease() {
      scene.live(Scene.LEASE.minus(SECOND));
      assertThat(phase()).isEqualTo(CoordinatorPhase.LEARNING);
      scene.live(SECOND.multipliedBy(2));
      assertThat(phase()).isEqualTo(CoordinatorPhase.SERVING);
    }

    @Test
    void while_a_connection_is_of_no_member_that_was_heard() {
      b.dies();
      scene.restart();
      lasts_one_lease();
    }

    @Test
    void while_somebody_has_reported_under_the_term_before_alone() {
      b.losesItsBackends().dies();
      scene.restart();
      b.holds(WORKER, 0).sync();
      lasts_one_lease();
    }

    @Test
    void while_a_member_of_the_ledger_was_not_heard() {
      b.losesItsBackends().dies();
      scene.coordinator.lead(scene.coordinator.epoch() + 1, scene.now());
      lasts_one_lease();
    }

    @Test
    void while_a_role_has_no_limit() {
      scene.limits.put("third", -1);
      scene.restart();
      lasts_one_lease();
    }

    @Test
    void while_the_limits_count_more_than_the_budget() {
      scene.limits.put("worker", 4);
      scene.restart();
      lasts_one_lease();
    }
  }

  @Test
  void a_look_that_began_before_the_last_report_does_not_end_it() {
    scene.restart();
    scene.after(SECOND).look();
    long before = scene.now();
    scene.after(SECOND);
    a.apply();
    b.apply();
    scene.lookBegun(before);
    assertThat(phase()).isEqualTo(CoordinatorPhase.LEARNING);
    scene.look();
    assertThat(phase()).isEqualTo(CoordinatorPhase.LEARNING);
    scene.after(SECOND).look();
    assertThat(phase()).isEqualTo(CoordinatorPhase.SERVING);
  }

  @Test
  void a_limit_that_was_lowered_between_two_looks_is_proven_by_the_next() {
    scene.restart();
    a.apply();
    b.apply();
    scene.limits.put("worker", 4);
    scene.after(SECOND).look();
    scene.limits.put("worker", 3);
    scene.after(SECOND).look();
    assertThat(phase()).isEqualTo(CoordinatorPhase.LEARNING);
    scene.after(SECOND).look();
    assertThat(phase()).isEqualTo(CoordinatorPhase.SERVING);
  }

  @Test
  void a_killed_process_gives_its_slots_back_though_the_coordinator_restarts_twice_a_lease() {
    a.losesItsBackends().dies();
    b.willWant(WORKER, 8);
    for (int i = 0; i < 2; i++) {
      scene.live(Scene.LEASE.dividedBy(2));
      scene.restart();
    }
    scene.live(SECOND.multipliedBy(2));
    assertThat(b.granted(WORKER)).isEqualTo(8);
    assertThat(scene.limits).containsEntry("web", 0);
  }

  @Test
  void a_stray_is_nobodys_and_may_be_somebodys() {
    scene.pid(TenantId.parse(WORKER));
    scene.restart();
    scene.live(SECOND.multipliedBy(2));
    assertThat(phase()).isEqualTo(CoordinatorPhase.LEARNING);
  }
}
