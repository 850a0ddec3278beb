package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

class BorrowErrorsTest {

  private static final Duration WAITED = Duration.ofSeconds(2);

  private final BorrowErrors errors =
      new BorrowErrors(
          PgStewardConfig.builder()
              .jdbcUrl("jdbc:pgsteward://h1,h2:5433/shop?user=web&password=hush")
              .build()
              .target());

  private static TenantSnapshot state(
      int limit,
      @Nullable Integer cap,
      int inUse,
      int opening,
      TenantSnapshot.Coordinator coordinator) {
    return new TenantSnapshot(
        "web@shop",
        "web@shop",
        limit,
        cap,
        inUse,
        0,
        opening,
        0,
        14,
        WAITED,
        inUse + opening + 14,
        TenantSnapshot.Counters.NONE,
        coordinator);
  }

  private static TenantSnapshot.Coordinator coordinator(
      int budget, int granted, int tenantGranted, @Nullable Integer max) {
    return new TenantSnapshot.Coordinator(
        "http://c:7432",
        true,
        "coordinator=http://c:7432 reachable",
        Duration.ofSeconds(12),
        budget,
        granted,
        tenantGranted,
        max);
  }

  private static TenantSnapshot.Coordinator silence() {
    return new TenantSnapshot.Coordinator(
        "http://c:7432",
        false,
        "coordinator=http://c:7432 not usable for 9000ms (connection refused)",
        Duration.ZERO,
        -1,
        -1,
        -1,
        null);
  }

  private static PSQLException refusal(String message, @Nullable String routine) {
    return new PSQLException(
        new ServerErrorMessage(
            "SFATAL\0C53300\0M" + message + "\0" + (routine == null ? "" : "R" + routine + "\0")));
  }

  private NoSlotException timedOut(TenantSnapshot state, @Nullable SQLException opening) {
    SQLException error = errors.timedOut(state, WAITED, WAITED, opening, false);
    assertThat((Throwable) error).isInstanceOf(NoSlotException.class);
    assertThat(error.getSQLState()).isEqualTo("53300");
    return (NoSlotException) error;
  }

  @Nested
  class The_limit_that_is_full {

    @Test
    void is_the_tenants_max() {
      NoSlotException error = timedOut(state(5, null, 5, 0, coordinator(97, 40, 20, 20)), null);
      assertThat(error.limit()).isEqualTo(FullLimit.TENANT_MAX);
      assertThat((Throwable) error)
          .hasMessageStartingWith("web@shop: no connection within 2000 ms: the tenant's max of 20")
          .hasMessageContainingAll(
              "this process holds 5",
              "other processes of the tenant are granted 15",
              "limit=5, in-use=5",
              "waiting=14",
              "coordinator=http://c:7432 reachable");
      assertThat(error.waited()).isEqualTo(WAITED);
      assertThat(error.tenant()).isEqualTo("web@shop");
    }

    @Test
    void is_the_budget() {
      NoSlotException error = timedOut(state(5, null, 5, 0, coordinator(97, 97, 20, null)), null);
      assertThat(error.limit()).isEqualTo(FullLimit.BUDGET);
      assertThat((Throwable) error)
          .hasMessageContainingAll(
              "the budget of 97 is granted in full",
              "other processes of the tenant are granted 15",
              "other tenants 77");
    }

    @Test
    void is_this_processes_grant() {
      NoSlotException error = timedOut(state(5, null, 5, 0, coordinator(97, 60, 20, 50)), null);
      assertThat(error.limit()).isEqualTo(FullLimit.MEMBER_GRANT);
      assertThat((Throwable) error)
          .hasMessageContainingAll(
              "all 5 slots granted to this process are taken", "other tenants 40", "37 are free");
    }

    @Test
    void is_what_the_process_has_without_a_coordinator() {
      NoSlotException error = timedOut(state(2, null, 2, 0, silence()), null);
      assertThat(error.limit()).isEqualTo(FullLimit.MEMBER_GRANT);
      assertThat((Throwable) error)
          .hasMessageContainingAll(
              "all 2 slots", "without its coordinator", "not usable for 9000ms");
      assertThat((Throwable) timedOut(state(0, null, 0, 0, silence()), null))
          .hasMessageContaining("this process has no slot");
    }

    @Test
    void is_told_with_other_advice_when_no_coordinator_was_heard_yet() {
      assertThat((Throwable) timedOut(state(2, null, 2, 0, silence()), null))
          .hasMessageContaining("it has not been heard yet")
          .message()
          .doesNotContain("bring the coordinator back");
      TenantSnapshot.Coordinator gone =
          new TenantSnapshot.Coordinator(
              "http://c:7432", false, "not usable", Duration.ZERO, 97, 60, 20, null);
      assertThat((Throwable) timedOut(state(2, null, 2, 0, gone), null))
          .hasMessageContaining("bring the coordinator back");
    }

    @Test
    void is_the_cap_of_this_process() {
      NoSlotException error = timedOut(state(5, 5, 5, 0, coordinator(97, 97, 20, 20)), null);
      assertThat(error.limit()).isEqualTo(FullLimit.PROCESS_CAP);
      assertThat((Throwable) error).hasMessageContaining("maximumPoolSize=5");
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        nullValues = "-",
        value = {
          "too many connections for role \"web\" | InitializeSessionUserId | ROLE_LIMIT",
          "too many connections for role \"web\" | - | ROLE_LIMIT",
          "zu viele Verbindungen von Rolle »web« | InitializeSessionUserId | ROLE_LIMIT",
          "too many connections for database \"shop\" | CheckMyDatabase | DATABASE_LIMIT",
          "zu viele Verbindungen für Datenbank »shop« | CheckMyDatabase | DATABASE_LIMIT",
          "sorry, too many clients already | InitProcess | SERVER",
          "remaining connection slots are reserved for roles with the SUPERUSER attribute |"
              + " InitPostgres | SERVER",
          "tut mir leid, schon zu viele Verbindungen | - | SERVER"
        })
    void is_told_apart_by_who_refused_in_postgresql(
        String message, @Nullable String routine, FullLimit limit) {
      SQLException refusal = refusal(message, routine);
      NoSlotException error =
          timedOut(state(5, null, 3, 0, coordinator(97, 97, 20, null)), refusal);
      assertThat(error.limit()).isEqualTo(limit);
      assertThat((Throwable) error).hasCause(refusal).hasMessageContaining("this process holds 3");
    }

    @Test
    void is_the_grant_when_every_slot_is_taken_whatever_an_earlier_opening_said() {
      SQLException earlier = refusal("sorry, too many clients already", null);
      assertThat(timedOut(state(5, null, 5, 0, coordinator(97, 97, 20, null)), earlier).limit())
          .isEqualTo(FullLimit.BUDGET);
    }

    @Test
    void is_the_waiters_when_nobody_may_wait() {
      NoSlotException error =
          errors.tooManyWaiters(state(5, null, 5, 0, coordinator(97, 97, 20, 5)), 14);
      assertThat(error.limit()).isEqualTo(FullLimit.WAITERS);
      assertThat(error.waited()).isZero();
      assertThat((Throwable) error)
          .hasMessageContaining("as many threads wait as may wait (maxWaiters=14)");
      assertThat(error.getSQLState()).isEqualTo("53300");
    }

    @Test
    void has_its_own_sentence_each() {
      List<String> sentences = new ArrayList<>();
      sentences.add(message(state(5, null, 5, 0, coordinator(97, 40, 20, 20)), null));
      sentences.add(message(state(5, null, 5, 0, coordinator(97, 97, 20, null)), null));
      sentences.add(message(state(5, null, 5, 0, coordinator(97, 60, 20, null)), null));
      TenantSnapshot free = state(5, null, 3, 0, coordinator(97, 60, 20, null));
      sentences.add(message(free, refusal("x", "InitializeSessionUserId")));
      sentences.add(message(free, refusal("x", "CheckMyDatabase")));
      sentences.add(message(free, refusal("x", "InitProcess")));
      sentences.add(message(state(5, 5, 5, 0, coordinator(97, 60, 20, null)), null));
      assertThat(sentences).doesNotHaveDuplicates();
    }

    private String message(TenantSnapshot state, @Nullable SQLException opening) {
      String text = String.valueOf(timedOut(state, opening).getMessage());
      return text.substring(0, text.indexOf('['));
    }
  }

  @Nested
  class The_time {

    @Test
    void is_the_limit_with_what_making_the_pool_took_of_it() {
      TenantSnapshot full = state(5, null, 5, 0, coordinator(97, 97, 20, null));
      Duration limit = Duration.ofSeconds(5);
      assertThat((Throwable) errors.timedOut(full, limit, Duration.ofMillis(4_048), null, false))
          .hasMessageStartingWith(
              "web@shop: no connection within 5000 ms, of which making the pool took 952 ms: the");
      assertThat((Throwable) errors.timedOut(full, limit, Duration.ofMillis(5_003), null, false))
          .hasMessageStartingWith("web@shop: no connection within 5000 ms: the");
    }
  }

  @Nested
  class A_thread_that_keeps_a_connection {

    @Test
    void is_told_of_the_deadlock() {
      TenantSnapshot full = state(5, null, 5, 0, coordinator(97, 97, 20, null));
      assertThat((Throwable) errors.timedOut(full, WAITED, WAITED, null, true))
          .hasMessageContaining("already holds a connection of the tenant");
      assertThat((Throwable) errors.timedOut(full, WAITED, WAITED, null, false))
          .message()
          .doesNotContain("already holds");
    }
  }

  @Nested
  class No_way_to_postgresql {

    @Test
    void is_no_full_limit() {
      SQLException cause =
          new PSQLException(new ServerErrorMessage("Mthe attempt failed\0C08001\0"));
      SQLException error =
          errors.timedOut(
              state(5, null, 3, 0, coordinator(97, 97, 20, null)), WAITED, WAITED, cause, false);
      assertThat((Throwable) error).isInstanceOf(SQLTransientConnectionException.class);
      assertThat((Throwable) error).isNotInstanceOf(NoSlotException.class).hasCause(cause);
      assertThat(error.getSQLState()).isEqualTo("08001");
      assertThat((Throwable) error)
          .hasMessageContainingAll("h1:5432, h2:5433", "at most 20 s", "cannot be reached");
    }

    @Test
    void is_told_when_an_opening_has_no_answer_yet() {
      SQLException error =
          errors.timedOut(
              state(5, null, 3, 2, coordinator(97, 97, 20, null)), WAITED, WAITED, null, false);
      assertThat(error.getSQLState()).isEqualTo("08001");
      assertThat((Throwable) error).hasMessageContaining("has not answered 2 openings in progress");
    }
  }

  @Nested
  class What_waiting_does_not_heal {

    @Test
    void keeps_postgresqls_state_and_cause() {
      SQLException cause = new SQLException("password authentication failed", "28P01");
      SQLException error = errors.openFailed(cause);
      assertThat((Throwable) error)
          .isInstanceOf(SQLNonTransientConnectionException.class)
          .hasCause(cause);
      assertThat(error.getSQLState()).isEqualTo("28P01");
      assertThat((Throwable) error)
          .hasMessageContainingAll("web@shop", "h1:5432, h2:5433", "password authentication failed")
          .message()
          .doesNotContain("hush");
    }

    @Test
    void names_the_coordinators_reason() {
      assertThat(
              (Throwable)
                  errors.refused(coordinator(97, 97, 20, null), "no entry matches web@shop"))
          .isInstanceOf(SQLNonTransientConnectionException.class)
          .hasMessageContainingAll("no entry matches web@shop", "coordinator=http://c:7432");
    }

    @Test
    void says_that_the_data_source_is_closed() {
      assertThat(errors.closed().getSQLState()).isEqualTo("08003");
      assertThat((Throwable) errors.closed()).hasMessageContaining("is closed");
    }
  }
}
