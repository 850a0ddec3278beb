package io.pgsteward.jdbc.internal.session;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a session talks before an answer has told the coordinator's own figures. Immutable.
 *
 * @param instance the instance's name; null for the only one
 * @param name what the process calls itself; may be empty
 * @param lease assumed length of the lease
 * @param park assumed longest parking
 * @param joinGrace how long a new member waits for the first answer before it goes by {@code
 *     fallbackSlots}
 */
record SessionSettings(
    @Nullable String instance, String name, Duration lease, Duration park, Duration joinGrace) {

  static final Duration DEFAULT_LEASE = Duration.ofSeconds(15);
  static final Duration DEFAULT_PARK = Duration.ofSeconds(5);
  static final Duration DEFAULT_JOIN_GRACE = Duration.ofSeconds(5);

  static SessionSettings of(@Nullable String instance, String name) {
    return new SessionSettings(instance, name, DEFAULT_LEASE, DEFAULT_PARK, DEFAULT_JOIN_GRACE);
  }
}
