package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.coordination.Scene.Participant;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.TenantReport;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a request is answered, and when. */
class CoordinatorAnswersTest {

  private static final String WEB = "web@shop";
  private static final String WORKER = "worker@shop";

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

    @ParameterizedTest
    @CsvSource({
      "0, false", // a cap of its own
      "1, false",
      "2, false", // exactly its grant
      "3, true", // it counts at more than its grant until it knows better
      "9, true",
    })
    void does_not_begin_for_a_member_that_goes_by_more_than_its_grant_of_two(
        int goesBy, boolean atOnce) {
      a.wants(WEB, 2);
      scene.settle();
      assertThat(a.granted(WEB)).isEqualTo(2);
      SyncRequest request = a.goesBy(WEB, goesBy).request();
      a.sync(request);
      assertThat(scene.coordinator.answersAtOnce(a.id, request)).isEqualTo(atOnce);
    }

    @Test
    void does_not_begin_for_a_tenant_that_has_no_grant() {
      a.wants(WEB, 2);
      scene.settle();
      SyncRequest request = a.goesBy(WORKER, 1).request();
      assertThat(scene.coordinator.answersAtOnce(a.id, request)).isTrue();
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
  class A_tenant_refused_while_learning {

    @Test
    void is_told_so_at_once_and_has_not_even_what_it_goes_by() {
      Scene scene = new Scene(4, PolicyBooks.named(WEB), true);
      scene.coordinator.lead(Scene.EPOCH, scene.now());
      scene.look();
      Participant a = scene.member("a").goesBy("stranger@shop", 2).goesBy(WEB, 2);
      a.wants("stranger@shop", 2);
      assertThat(scene.coordinator.phase()).isEqualTo(CoordinatorPhase.LEARNING);
      assertThat(a.granted(WEB)).as("keeps what it goes by").isEqualTo(2);
      assertThat(a.granted("stranger@shop")).isZero();
      assertThat(a.answer().tenants())
          .filteredOn(grant -> grant.refused() != null)
          .singleElement()
          .satisfies(grant -> assertThat(grant.tenant()).isEqualTo("stranger@shop"));
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
      return new SyncRequest(
          1, null, "", one.sequence() + 1, 0, 0, 0, one.phase(), false, false, both);
    }

    @Test
    void are_refused_while_another_leads() {
      scene.coordinator.follow("10.0.0.9:7432", "10.0.0.9:7432");
      assertThatThrownBy(() -> scene.member("a").wants(WEB, 1))
          .isInstanceOf(SyncRefusedException.class)
          .hasMessageContaining("10.0.0.9:7432");
    }
  }
}
