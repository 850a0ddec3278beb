package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.pgsteward.budget.Budget;
import io.pgsteward.budget.ServerLimits;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.StatusResponse.BudgetStatus;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.StrayStatus;
import io.pgsteward.server.http.Readiness;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class InstanceLogTest {

  private static final ServerLimits LIMITS = new ServerLimits(110, 3, 2);
  private static final MemberId MEMBER = new MemberId("member-0001");

  private final Readiness readiness = new Readiness();
  private final List<StrayStatus> strays = new ArrayList<>();
  private final InstanceLog log =
      new InstanceLog(new InstanceId("main"), readiness, this::instanceStatus);
  private final Logger logger = (Logger) LoggerFactory.getLogger("pgsteward");
  private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

  @BeforeEach
  void listen() {
    logger.setLevel(Level.INFO);
    logger.setAdditive(false);
    appender.start();
    logger.addAppender(appender);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(appender);
    logger.setAdditive(true);
    logger.setLevel(null);
  }

  private CompletableFuture<InstanceStatus> instanceStatus() {
    if (strays.isEmpty()) {
      return CompletableFuture.failedFuture(new IllegalStateException("stopped"));
    }
    return CompletableFuture.completedFuture(
        new InstanceStatus(
            "main",
            CoordinatorPhase.SERVING,
            7,
            null,
            new BudgetStatus(100, 110, 5, 2, 3, 0, 0),
            0,
            0,
            strays,
            "off",
            0,
            null,
            List.of(),
            List.of()));
  }

  private List<String> lines() {
    return appender.list.stream().map(e -> e.getLevel() + " " + e.getFormattedMessage()).toList();
  }

  @Test
  void the_first_budget_is_told_with_its_parts() {
    log.budgetChanged(null, new Budget(LIMITS, 2, 3, 0));

    assertThat(lines())
        .containsExactly(
            "INFO main: budget 100: max_connections 110 - reserved 5 - foreign peak 2 - margin 3");
  }

  @Test
  void a_changed_budget_is_told_with_what_changed_it() {
    log.budgetChanged(new Budget(LIMITS, 2, 3, 0), new Budget(LIMITS, 4, 3, 0));
    log.budgetChanged(new Budget(LIMITS, 4, 3, 0), new Budget(new ServerLimits(50, 3, 2), 4, 3, 1));

    assertThat(lines())
        .containsExactly(
            "INFO main: budget 100 -> 98: foreign peak 2 -> 4",
            "INFO main: budget 98 -> 37: max_connections 110 -> 50, held back 0 -> 1");
  }

  @Test
  void a_budget_that_does_not_fit_is_a_warning() {
    log.budgetChanged(new Budget(LIMITS, 2, 3, 0), new Budget(LIMITS, 110, 3, 0));

    assertThat(lines())
        .containsExactly(
            "INFO main: budget 100 -> 0: foreign peak 2 -> 110",
            "WARN main: the budget is 0 and 8 connections short: max_connections 110 - reserved 5 -"
                + " foreign peak 110 - margin 3");
  }

  @Test
  void phases_say_what_they_mean_for_members() {
    log.phaseChanged(CoordinatorPhase.LEARNING, 7);
    assertThat(readiness.reason()).as("learning is ready: members must reach it").isNull();
    log.phaseChanged(CoordinatorPhase.SERVING, 7);
    log.phaseChanged(CoordinatorPhase.STANDBY, 7);

    assertThat(lines())
        .containsExactly(
            "INFO main: leads, epoch 7; learning for one lease what members hold, nothing new is"
                + " granted meanwhile",
            "INFO main: serving, epoch 7",
            "WARN main: leads no longer; members keep what they have");
    assertThat(readiness.reason()).isEqualTo("does not lead yet");
  }

  @Test
  void members_are_named_as_they_come_and_go() {
    log.memberJoined(MEMBER, "shop", "10.0.0.7");
    log.memberLeft(MEMBER, "shop".repeat(100));
    log.memberForgotten(MEMBER, "shop");
    log.memberJoined(MEMBER, "", "10.0.0.7");

    assertThat(lines())
        .containsExactly(
            "INFO main: member member-0001 (shop) joined from 10.0.0.7",
            "INFO main: member member-0001 (" + "shop".repeat(15) + "...) left",
            "INFO main: member member-0001 (shop) was silent and PostgreSQL shows nothing of it;"
                + " forgotten",
            "INFO main: member member-0001 joined from 10.0.0.7");
  }

  @Test
  void what_is_unmet_is_a_warning_until_it_is_met() {
    log.unmetGuaranteesChanged(0, 20);
    log.unmetGuaranteesChanged(20, 0);
    log.unmetGuaranteesChanged(0, 1);

    assertThat(lines())
        .containsExactly(
            "WARN main: 20 slots of guarantees have demand and cannot be granted (before: 0);"
                + " /v1/status shows whose",
            "INFO main: all guarantees are met again",
            "WARN main: 1 slot of guarantees has demand and cannot be granted (before: 0);"
                + " /v1/status shows whose");
  }

  @Test
  void strays_are_a_warning_that_says_what_to_do() {
    log.straysChanged(0, 1);
    strays.add(new StrayStatus("web", "shop", 1));
    strays.add(new StrayStatus("worker", "shop", 2));
    log.straysChanged(1, 3);
    log.straysChanged(3, 0);

    String advice =
        ", taken from what is given out; let what opens them use PgSteward or a role of its own";
    assertThat(lines())
        .containsExactly(
            "WARN main: 1 stray connection of managed roles that no member has reported (before: 0)"
                + advice,
            "WARN main: 3 stray connections (1 of web@shop, 2 of worker@shop) of managed roles that"
                + " no member has reported (before: 1)"
                + advice,
            "INFO main: no stray connections any more (before: 3)");
  }

  @Test
  void a_failing_look_is_told_once_and_makes_a_standby_unready() {
    log.observationFailed(new SQLException("Connection refused"));
    assertThat(readiness.reason()).isEqualTo("does not lead: Connection refused");
    log.observationRecovered();
    assertThat(readiness.reason()).isEqualTo("does not lead yet");
    log.leadershipHeldBy(held("leads (pid 1)", true));
    log.leadershipHeldBy(held("leads (pid 2)", true));
    assertThat(readiness.reason())
        .isEqualTo("does not lead: coordinator 10.0.0.2:7432 leads, this one stands by");

    assertThat(lines())
        .containsExactly(
            "WARN main: PostgreSQL cannot be looked at: Connection refused; budget and grants stay"
                + " as they are, and it keeps trying",
            "INFO main: PostgreSQL can be looked at again",
            "INFO main: STANDBY: coordinator 10.0.0.2:7432 leads and members are sent there; this one"
                + " takes over when the lead is free");
  }

  @Test
  void a_standby_whose_session_broke_and_came_back_says_again_who_leads_when_asked() {
    log.leadershipHeldBy(held("leads (pid 1)", true));
    log.observationFailed(new SQLException("terminating connection"));
    assertThat(readiness.reason()).isEqualTo("does not lead: terminating connection");
    log.observationRecovered();
    log.leadershipHeldBy(held("leads (pid 1)", true));

    assertThat(readiness.reason())
        .isEqualTo("does not lead: coordinator 10.0.0.2:7432 leads, this one stands by");
    assertThat(lines()).filteredOn(line -> line.contains("STANDBY")).hasSize(1);
  }

  @Test
  void a_leader_with_another_configuration_is_an_error_that_is_told_once() {
    log.leadershipHeldBy(held("leads with hash a", false));
    log.leadershipHeldBy(held("leads with hash a", false));
    log.leadershipHeldBy(held("leads no more", false));

    assertThat(readiness.reason()).isEqualTo("does not lead: leads no more");
    assertThat(lines())
        .containsExactly(
            "ERROR main: STANDBY, and will not take over: leads with hash a",
            "ERROR main: STANDBY, and will not take over: leads no more");
  }

  private static LeadershipHeldException held(String message, boolean sameConfiguration) {
    return new LeadershipHeldException(
        message, "10.0.0.2:7432", "10.0.0.2:7432", sameConfiguration);
  }
}
