package io.pgsteward.enforcement;

import org.jspecify.annotations.Nullable;

/**
 * What PostgreSQL lets one role have, and what that counts towards the budget. Not thread-safe:
 * belongs to a {@link LimitBook}.
 */
public final class RoleLimit {

  /** PostgreSQL's value for a role without a limit. */
  public static final int UNLIMITED = -1;

  private final String role;
  private int limit;
  private int seen;
  private int former;
  private long provenAfterNanos;
  private @Nullable Integer attempted;

  RoleLimit(String role, int limit, long knownNanos) {
    this.role = role;
    this.limit = limit;
    this.former = limit;
    this.provenAfterNanos = knownNanos;
  }

  public String role() {
    return role;
  }

  /** The limit in force: the one committed last, or found there; {@link #UNLIMITED} without one. */
  public int limit() {
    return limit;
  }

  /** Connections of the role that the last look showed. */
  public int seen() {
    return seen;
  }

  /**
   * What the role counts: its limit or what it was seen to have, whichever is more; before a
   * lowering is proven, its limit from before. {@link Long#MAX_VALUE} for a role without a limit.
   */
  public long counts() {
    return isUnlimited() ? Long.MAX_VALUE : Math.max(former, Math.max(limit, seen));
  }

  /** Whether a look that began then shows all that was let in under other limits than this one. */
  boolean isProvenBy(long startedNanos) {
    return former == limit && startedNanos - provenAfterNanos > 0;
  }

  /** Whether a lowering waits for a look that began after it was committed. */
  public boolean awaitsProof() {
    return former != limit;
  }

  private boolean isUnlimited() {
    return limit == UNLIMITED || former == UNLIMITED;
  }

  /** A change is about to be sent: from now on a raise may be in force, whatever we hear of it. */
  void attempting(int newLimit) {
    attempted = newLimit;
    if (!isLowering(newLimit)) {
      former = former == UNLIMITED ? UNLIMITED : Math.max(former, newLimit);
    }
  }

  /** The change is in force since that moment or a little before. */
  void committed(int newLimit, long knownNanos) {
    if (isLowering(newLimit)) {
      former = limit == UNLIMITED ? UNLIMITED : Math.max(former, limit);
      provenAfterNanos = knownNanos;
    } else {
      former = former == UNLIMITED ? UNLIMITED : Math.max(former, newLimit);
    }
    limit = newLimit;
  }

  /** The change failed, or nobody knows what became of it; a later look will show. */
  void unknown(long knownNanos) {
    provenAfterNanos = knownNanos;
  }

  private boolean isLowering(int newLimit) {
    return limit == UNLIMITED || (newLimit != UNLIMITED && newLimit < limit);
  }

  /**
   * A look at the role.
   *
   * @param found the limit that it has at PostgreSQL
   * @return whether another hand than ours has changed it
   */
  boolean observed(int found, int connections, long startedNanos, long endedNanos) {
    seen = connections;
    if (startedNanos - provenAfterNanos > 0) {
      former = limit;
    }
    if (found == limit) {
      return false;
    }
    boolean ours = attempted != null && found == attempted;
    if (found == UNLIMITED) {
      former = UNLIMITED;
      limit = UNLIMITED;
    } else {
      committed(found, endedNanos);
    }
    return !ours;
  }
}
