package io.pgsteward.server.http;

import io.pgsteward.protocol.CoordinatorPhase;
import org.jspecify.annotations.Nullable;

/**
 * Whether one instance is served, and if not, why. An instance that is learning counts: members
 * must reach it, or it never learns. Thread-safe: each field is volatile and stands alone.
 */
public final class Readiness {

  private volatile CoordinatorPhase phase = CoordinatorPhase.STANDBY;
  private volatile @Nullable String failure;

  /** The instance's phase is this now. */
  public void phase(CoordinatorPhase now) {
    phase = now;
  }

  /** PostgreSQL could not be looked at, or another coordinator leads; in words. */
  public void failed(String reason) {
    failure = reason;
  }

  /** PostgreSQL can be looked at. */
  public void recovered() {
    failure = null;
  }

  /** Why the instance is not served, or null if it is. */
  public @Nullable String reason() {
    if (phase != CoordinatorPhase.STANDBY) {
      return null;
    }
    String reason = failure;
    return reason == null ? "does not lead yet" : "does not lead: " + reason;
  }
}
