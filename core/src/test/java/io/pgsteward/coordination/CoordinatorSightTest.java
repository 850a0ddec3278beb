package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.model.TenantId;
import io.pgsteward.postgres.Backend;
import io.pgsteward.protocol.StatusResponse.StrayStatus;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** What a look at PostgreSQL shows that is no member's. */
class CoordinatorSightTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";
  private static final Duration SECOND = Duration.ofSeconds(1);

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
  class A_backend_that_a_member_reported {

    private final Scene scene = Scene.serving(4, PolicyBooks.withDefault());

    private List<Integer> goneOf(Participant member) {
      return member.answer().tenants().get(0).gone();
    }

    @Test
    void and_that_has_ended_is_told_to_it_at_once() {
      Participant a = scene.member("a").wants(WEB, 2);
      scene.settle();
      a.holds(WEB, 2).sync();
      scene.coordinator.drainChanged();
      int ended = a.pids.getOrDefault(TenantId.parse(WEB), List.of()).get(0);
      scene.backends.remove(ended);
      scene.after(SECOND).look().decide();
      assertThat(scene.coordinator.drainChanged()).contains(a.id);
      assertThat(goneOf(a)).containsExactly(ended);
      scene.look().decide();
      assertThat(scene.coordinator.drainChanged()).as("told once").isEmpty();
    }

    @Test
    void and_that_still_lives_is_not_told() {
      Participant a = scene.member("a").wants(WEB, 2);
      scene.settle();
      a.holds(WEB, 2).sync();
      scene.after(SECOND).look().decide();
      assertThat(goneOf(a)).isEmpty();
    }
  }
}
