package io.pgsteward.coordination;

import org.jspecify.annotations.Nullable;

/** A member's request was not taken in, and nothing changed. */
public final class SyncRefusedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final SyncRefusal reason;
  private final @Nullable String leader;

  /**
   * @param leader address of the coordinator to ask instead, or null if none is known
   */
  public SyncRefusedException(SyncRefusal reason, String message, @Nullable String leader) {
    super(message);
    this.reason = reason;
    this.leader = leader;
  }

  public SyncRefusal reason() {
    return reason;
  }

  /** Address of the coordinator to ask instead, or null if none is known. */
  public @Nullable String leader() {
    return leader;
  }
}
