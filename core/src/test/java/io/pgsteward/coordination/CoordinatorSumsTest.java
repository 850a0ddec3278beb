package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantReport;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Ten thousand members that each report the most they may: more than an int holds. */
class CoordinatorSumsTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";
  private static final int MEMBERS = 10_000;
  private static final long ALL = (long) MEMBERS * TenantReport.MOST;

  private static Participant manyReportTheMost(Scene scene) {
    Participant last = scene.member("m0");
    for (int i = 0; i < MEMBERS; i++) {
      last = scene.member("m" + i).goesBy(WEB, TenantReport.MOST);
      last.willWant(WEB, TenantReport.MOST);
      scene.coordinator.sync(last.id, last.request(), "127.0.0.1", scene.now());
    }
    scene.look();
    return last;
  }

  @Nested
  class While_serving {

    private final Scene scene = Scene.serving(100, PolicyBooks.withDefault());

    @Test
    void a_newcomer_waits_until_they_have_let_go() {
      manyReportTheMost(scene);
      Participant newcomer = scene.member("newcomer").wants(WORKER, 4);
      scene.look();
      assertThat(scene.coordinator.ledger().counted()).isEqualTo(ALL);
      assertThat(newcomer.granted(WORKER)).isZero();
    }

    @Test
    void their_room_for_backends_is_not_taken_for_none() {
      manyReportTheMost(scene);
      scene.pid(TenantId.parse(WEB));
      scene.look();
      assertThat(scene.coordinator.strays()).as("any of them may have opened it").isZero();
    }

    @Test
    void what_is_still_held_is_shown_as_the_largest_number() {
      manyReportTheMost(scene);
      InstanceStatus status = scene.coordinator.status(scene.now());
      assertThat(status.granted()).isBetween(0, 100);
      assertThat(status.stillHeld()).isEqualTo(Integer.MAX_VALUE);
    }
  }

  @Nested
  class While_learning {

    @Test
    void sums_are_shown_and_sent_as_the_largest_number() {
      Scene scene = new Scene(100, PolicyBooks.withDefault(), true);
      scene.coordinator.lead(Scene.EPOCH, scene.now());
      SyncResponse answer = manyReportTheMost(scene).answer();
      assertThat(answer.granted()).isEqualTo(Integer.MAX_VALUE);
      assertThat(answer.tenants())
          .singleElement()
          .satisfies(
              grant -> {
                assertThat(grant.grant()).isEqualTo(TenantReport.MOST);
                assertThat(grant.tenantGranted()).isEqualTo(Integer.MAX_VALUE);
              });
      assertThat(scene.coordinator.status(scene.now()).tenants())
          .filteredOn(t -> t.tenant().equals(WEB))
          .singleElement()
          .satisfies(t -> assertThat(t.demand()).isEqualTo(Integer.MAX_VALUE));
    }
  }
}
