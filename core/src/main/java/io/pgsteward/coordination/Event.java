package io.pgsteward.coordination;

import io.pgsteward.model.MemberId;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** What reaches the control thread of a {@link ControlLoop}. */
sealed interface Event {

  /** A member's snapshot. */
  record Sync(
      MemberId member, SyncRequest request, String address, CompletableFuture<SyncResponse> reply)
      implements Event {}

  /** The leader's lock was taken. */
  record Led(long epoch) implements Event {}

  /** Another coordinator has the leader's lock. */
  record Followed(LeadershipHeldException held) implements Event {}

  /** PostgreSQL was looked at. */
  record Looked(Observation look) implements Event {}

  /** PostgreSQL could not be looked at. */
  record LookFailed(Exception cause) implements Event {}

  /**
   * Connection limits were set.
   *
   * @param startedNanos when their transaction was sent
   */
  record LimitsSet(Map<String, Integer> limits, long startedNanos) implements Event {}

  /** Connection limits were not set, or nobody knows. */
  record LimitsFailed(Map<String, Integer> limits, Exception cause) implements Event {}

  /** Somebody wants to see the state. */
  record Status(CompletableFuture<InstanceStatus> reply) implements Event {}

  /** The end. */
  record Close() implements Event {}

  /** Whether the observer has no job any more. */
  default boolean endsJob() {
    return this instanceof Looked
        || this instanceof LookFailed
        || this instanceof Followed
        || this instanceof LimitsSet
        || this instanceof LimitsFailed;
  }
}
