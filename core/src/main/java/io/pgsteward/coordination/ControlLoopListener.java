package io.pgsteward.coordination;

import io.pgsteward.budget.Budget;
import io.pgsteward.model.MemberId;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.protocol.CoordinatorPhase;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Told of what changes, for logs and counters. Called by the control loop's own thread, outside of
 * locks; a slow listener slows the coordinator.
 */
public interface ControlLoopListener {

  /** The phase or the term changed. */
  default void phaseChanged(CoordinatorPhase phase, long epoch) {}

  /** The budget or one of its parts changed; {@code before} is null the first time. */
  default void budgetChanged(@Nullable Budget before, Budget after) {}

  /** Slots of guarantees that have demand and cannot be granted; 0 when all are met again. */
  default void unmetGuaranteesChanged(int before, int after) {}

  /** Connections of managed roles that are no member's. */
  default void straysChanged(int before, int after) {}

  default void memberJoined(MemberId member, String name, String address) {}

  default void memberLeft(MemberId member, String name) {}

  /** A silent member was forgotten, since PostgreSQL shows nothing of it. */
  default void memberForgotten(MemberId member, String name) {}

  /** PostgreSQL cannot be looked at, or now for another reason; the budget stays as it is. */
  default void observationFailed(Exception cause) {}

  /** PostgreSQL can be looked at again. */
  default void observationRecovered() {}

  /**
   * Whether PostgreSQL shows what kind each session is. It does not without {@code pg_monitor};
   * then every session of roles that are not managed counts as foreign. Told when it changes; at
   * the start it is taken to be so.
   */
  default void observationComplete(boolean complete) {}

  /** Connection limits of roles were set. */
  default void limitsSet(Map<String, Integer> limits) {}

  /** Connection limits could not be set; it is tried again. */
  default void limitsFailed(Map<String, Integer> limits, Exception cause) {}

  /**
   * Another hand has changed a role's limit to this; it is put right once limits can be changed.
   */
  default void limitChangedByAnotherHand(String role, int found) {}

  /**
   * What protects the budget changed; also told after the first look.
   *
   * @param sentence for operators
   * @param limits whether role limits are kept
   */
  default void enforcementChanged(String sentence, boolean limits) {}

  /**
   * Another coordinator leads, and this one does not. Told after every try to take the lead, so
   * about once a second.
   */
  default void leadershipHeldBy(LeadershipHeldException held) {}

  /** The loop itself failed; it goes on. */
  default void failed(Exception cause) {}
}
