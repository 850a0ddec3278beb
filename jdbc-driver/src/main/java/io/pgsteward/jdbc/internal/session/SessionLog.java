package io.pgsteward.jdbc.internal.session;

import io.pgsteward.protocol.SyncResponse;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a {@link CoordinatorSession} tells people: once for each change, never for each call. */
final class SessionLog {

  private static final Logger LOG = LoggerFactory.getLogger(CoordinatorSession.class);

  private SessionLog() {}

  static void fellBack(String address, long leaseNanos) {
    LOG.warn(
        "PgSteward: no answer from {} for a whole lease ({} ms). Existing connections go on; each"
            + " tenant goes by its last grant or fallbackSlots, whichever is more",
        address,
        TimeUnit.NANOSECONDS.toMillis(leaseNanos));
  }

  static void unusable(String why, String goingBy) {
    LOG.warn("PgSteward: the coordinator is not usable: {}; {}; trying again", why, goingBy);
  }

  static void usableAgain(String address, long awayNanos, SyncResponse answer) {
    LOG.info(
        "PgSteward: coordinator {} is usable again after {} ms ({}, epoch {})",
        address,
        TimeUnit.NANOSECONDS.toMillis(awayNanos),
        answer.phase(),
        answer.epoch());
  }

  static void failed(String address, RuntimeException cause) {
    LOG.error("PgSteward: the exchange with {} failed; it goes on", address, cause);
  }

  static void interrupted(String address) {
    LOG.warn("PgSteward: the session with {} was interrupted and has ended", address);
  }
}
