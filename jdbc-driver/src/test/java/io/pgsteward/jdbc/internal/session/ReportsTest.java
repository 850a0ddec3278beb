package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class ReportsTest {

  private static final TenantId WEB = TenantId.of("web", "shop");
  private static final Moment START = new Moment(0, 0);

  private final GrantBook book = new GrantBook(START, 15_000_000_000L);
  private final Reports reports = new Reports("main", "shop-1");

  private static TenantFigures figures(int demand, int waiting, int open, Integer... pids) {
    return new TenantFigures(
        WEB, demand, waiting, waiting * 1_500_000L, 0, open, 0, 0, List.of(pids));
  }

  private SyncRequest next(TenantFigures... figures) {
    return reports.next(book, List.of(figures), 10_000, false, false);
  }

  private void answered(long epoch, long generation, int grant) {
    TenantGrant web = new TenantGrant(WEB.toString(), grant, null, grant, null);
    book.answered(
        new SyncResponse(
            1,
            "main",
            epoch,
            generation,
            CoordinatorPhase.SERVING,
            15_000,
            5_000,
            97,
            9,
            List.of(web)),
        START,
        START);
  }

  @Test
  void the_sequence_grows_with_every_report() {
    assertThat(next().sequence()).isEqualTo(1);
    assertThat(next().sequence()).isEqualTo(2);
  }

  @Test
  void more_waiting_threads_than_postgresql_has_connections_are_a_demand_for_all_of_them() {
    SyncRequest request = next(figures(300_000, 300_000, 0));
    TenantReport web = request.tenants().get(0);
    assertThat(web.demand()).isEqualTo(TenantReport.MOST);
    assertThat(web.waiting()).isEqualTo(300_000);
  }

  @Test
  void a_report_before_the_first_answer_names_no_epoch() {
    SyncRequest request = next();
    assertThat(request.epoch()).isZero();
    assertThat(request.generation()).isZero();
    assertThat(request.phase()).isEqualTo(MemberPhase.JOINING);
  }

  @Test
  void a_report_names_what_was_applied_and_the_limit_gone_by() {
    // counterexample 6: what was measured under an earlier term says so
    book.register(WEB, 2, 100);
    answered(7, 3, 5);
    SyncRequest request = next(figures(4, 1, 3, 11, 12, 13));
    assertThat(request.epoch()).isEqualTo(7);
    assertThat(request.generation()).isEqualTo(3);
    assertThat(request.tenants())
        .containsExactly(new TenantReport("web@shop", 5, 4, 1, 1, 0, 3, 0, List.of(11, 12, 13)));
  }

  @Test
  void a_tenant_with_a_grant_and_no_pool_is_reported_with_nothing_held() {
    book.register(WEB, 2, 100);
    answered(7, 3, 5);
    book.retire(WEB);
    assertThat(next().tenants())
        .containsExactly(new TenantReport("web@shop", 5, 0, 0, 0, 0, 0, 0, List.of()));
  }

  @Test
  void a_leaving_member_wants_nothing_and_reports_what_it_still_holds() {
    book.register(WEB, 2, 100);
    answered(7, 3, 5);
    SyncRequest request = reports.next(book, List.of(figures(4, 1, 3, 11)), 10_000, true, false);
    assertThat(request.leaving()).isTrue();
    assertThat(request.tenants())
        .containsExactly(new TenantReport("web@shop", 0, 0, 0, 0, 0, 3, 0, List.of(11)));
  }

  @Test
  void a_tenant_without_limit_demand_or_connections_is_left_out() {
    book.register(WEB, 2, 100);
    answered(7, 3, 0);
    assertThat(next(figures(0, 0, 0)).tenants()).isEmpty();
    assertThat(next(figures(1, 1, 0)).tenants()).hasSize(1);
  }

  @Nested
  class News {

    @Test
    void is_a_fall_of_demand() {
      next(figures(4, 0, 4));
      assertThat(reports.newsIn(List.of(figures(3, 0, 4)))).isTrue();
    }

    @Test
    void is_not_a_rise_of_demand_which_the_pool_tells_itself() {
      next(figures(4, 0, 4));
      assertThat(reports.newsIn(List.of(figures(5, 0, 4)))).isFalse();
    }

    @Test
    void is_a_pid_that_became_known() {
      next(figures(4, 0, 4, 11));
      assertThat(reports.newsIn(List.of(figures(4, 0, 4, 11, 12)))).isTrue();
    }

    @Test
    void is_that_nobody_waits_any_more() {
      next(figures(4, 2, 4));
      assertThat(reports.newsIn(List.of(figures(4, 1, 4)))).isFalse();
      assertThat(reports.newsIn(List.of(figures(4, 0, 4)))).isTrue();
    }

    @Test
    void is_a_tenant_that_came_or_went() {
      next();
      assertThat(reports.newsIn(List.of(figures(0, 0, 0)))).isTrue();
      next(figures(1, 0, 1));
      assertThat(reports.newsIn(List.of())).isTrue();
    }

    @Test
    void is_not_what_was_reported_already() {
      next(figures(4, 1, 4, 11));
      assertThat(reports.newsIn(List.of(figures(4, 1, 4, 11)))).isFalse();
    }
  }
}
