package io.pgsteward.coordination;

import io.pgsteward.budget.Budget;
import io.pgsteward.ledger.Member;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.CoordinatorPhase;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Tells a listener what changed, each thing once. Used by the control loop's own thread. */
final class Announcements {

  private final ControlLoopListener listener;
  private @Nullable String lookFailure;
  private boolean toldComplete = true;
  private CoordinatorPhase toldPhase = CoordinatorPhase.STANDBY;
  private long toldEpoch;
  private @Nullable Budget toldBudget;
  private int toldUnmet;
  private int toldStrays;
  private @Nullable String toldEnforcement;

  Announcements(ControlLoopListener listener) {
    this.listener = listener;
  }

  /** Whether the last look failed. */
  boolean lookFails() {
    return lookFailure != null;
  }

  /** PostgreSQL answered. */
  void reached() {
    if (lookFailure != null) {
      lookFailure = null;
      listener.observationRecovered();
    }
  }

  /** A look succeeded. */
  void looked(Observation look) {
    reached();
    if (look.complete() != toldComplete) {
      toldComplete = look.complete();
      listener.observationComplete(toldComplete);
    }
  }

  /** A look failed. */
  void lookFailed(Exception cause) {
    String reason = String.valueOf(cause.getMessage());
    if (!reason.equals(lookFailure)) {
      lookFailure = reason;
      listener.observationFailed(cause);
    }
  }

  /** A round is over, in which these members were dropped. */
  void changes(Coordinator coordinator, List<Member> dropped) {
    for (Member member : dropped) {
      if (member.leaving()) {
        listener.memberLeft(member.id(), member.name());
      } else {
        listener.memberForgotten(member.id(), member.name());
      }
    }
    if (coordinator.phase() != toldPhase || coordinator.epoch() != toldEpoch) {
      toldPhase = coordinator.phase();
      toldEpoch = coordinator.epoch();
      listener.phaseChanged(toldPhase, toldEpoch);
    }
    Budget budget = coordinator.budget();
    if (budget != null && !budget.equals(toldBudget)) {
      Budget before = toldBudget;
      toldBudget = budget;
      listener.budgetChanged(before, budget);
    }
    if (coordinator.unmetGuarantees() != toldUnmet) {
      int before = toldUnmet;
      toldUnmet = coordinator.unmetGuarantees();
      listener.unmetGuaranteesChanged(before, toldUnmet);
    }
    if (coordinator.strays() != toldStrays) {
      int before = toldStrays;
      toldStrays = coordinator.strays();
      listener.straysChanged(before, toldStrays);
    }
    coordinator.drainLimitsOfOtherHands().forEach(listener::limitChangedByAnotherHand);
    String enforcement = coordinator.enforcement();
    if (budget != null && !enforcement.equals(toldEnforcement)) {
      toldEnforcement = enforcement;
      listener.enforcementChanged(enforcement, coordinator.enforces());
    }
  }
}
