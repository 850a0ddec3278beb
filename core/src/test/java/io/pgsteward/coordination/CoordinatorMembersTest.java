package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.SyncRequest;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Members that fall silent, return and leave. */
class CoordinatorMembersTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";
  private static final Duration SECOND = Duration.ofSeconds(1);

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
  class A_forgotten_member_that_returns {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());
    private final Participant member = scene.member("a");

    private long isForgotten() {
      for (int slots = 1; slots <= 4; slots++) {
        member.wants(WEB, slots);
        scene.settle();
      }
      long seen = member.answer().generation();
      assertThat(seen).isGreaterThan(3);
      member.dies();
      scene.live(Scene.LEASE.plus(Scene.CONNECT_TIMEOUT).plus(SECOND));
      assertThat(scene.coordinator.ledger().member(member.id)).as("forgotten").isNull();
      return seen;
    }

    @Test
    void is_answered_with_a_newer_generation_than_it_has_seen() {
      long seen = isForgotten();
      member.goesBy(WEB, 0).wants(WEB, 1);
      assertThat(member.answer().epoch()).isEqualTo(Scene.EPOCH);
      assertThat(member.answer().generation()).isGreaterThan(seen);
    }

    @Test
    void begins_anew_when_what_it_has_seen_is_of_another_term() {
      isForgotten();
      member.epoch = Scene.EPOCH - 1;
      member.goesBy(WEB, 0).wants(WEB, 0);
      assertThat(member.answer().generation()).isEqualTo(1);
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
}
