package io.pgsteward.coordination;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.PolicyBook;
import java.time.Duration;

/**
 * How one instance is coordinated. Immutable.
 *
 * @param instance the instance's name
 * @param lease time for which a member is believed alive without being heard
 * @param park longest time for which a call is kept open; at most a third of the lease
 * @param observeEvery time between two looks at PostgreSQL when nothing asks for one sooner; at
 *     most a third of the lease, since PostgreSQL ends the leader's session after two thirds
 *     without one
 * @param margin connections kept free; at least 0
 * @param policies what each tenant is promised, and which roles are managed
 * @param learns whether a start is followed by one lease in which nothing is granted, since members
 *     of an earlier coordinator may be there (rule S8); false only for {@code coordinator=local}
 * @param enforce whether PostgreSQL is made to refuse what was not granted
 */
public record CoordinatorSettings(
    InstanceId instance,
    Duration lease,
    Duration park,
    Duration observeEvery,
    int margin,
    PolicyBook policies,
    boolean learns,
    EnforceMode enforce) {

  /** A slot that came is not taken away by rotation before this time (rule L3). */
  public static final Duration MIN_RESIDENCE = Duration.ofSeconds(1);

  /** Slots that nobody wants stay where they are for this time (rule L4). */
  public static final Duration IDLE_HOLD = Duration.ofSeconds(60);

  /** Time between two rounds in which unwanted slots go back. */
  public static final Duration IDLE_ROUND = Duration.ofSeconds(5);

  public CoordinatorSettings {
    if (lease.isNegative() || lease.isZero() || park.isNegative() || park.isZero()) {
      throw new IllegalArgumentException("lease and park are above 0: " + lease + ", " + park);
    }
    if (park.multipliedBy(3).compareTo(lease) > 0) {
      throw new IllegalArgumentException(
          "park is at most a third of the lease, but park was " + park + " and lease " + lease);
    }
    if (observeEvery.isNegative() || observeEvery.isZero() || margin < 0) {
      throw new IllegalArgumentException(
          "observeEvery is above 0 and margin at least 0: " + observeEvery + ", " + margin);
    }
    if (observeEvery.multipliedBy(3).compareTo(lease) > 0) {
      throw new IllegalArgumentException(
          "observeEvery is at most a third of the lease, since PostgreSQL ends the leader's session"
              + " after two thirds of it without a look, but observeEvery was "
              + observeEvery
              + " and lease "
              + lease);
    }
  }
}
