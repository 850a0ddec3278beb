package io.pgsteward.protocol;

/** Where a member's session with the coordinator stands. */
public enum MemberPhase {
  /** Started, no answer applied yet; its limit per tenant is {@code fallbackSlots}. */
  JOINING,
  /** Goes by the grants of a coordinator that it hears. */
  GRANTED,
  /** Hears no coordinator; goes by its last grants or {@code fallbackSlots}. */
  FALLBACK,
  /** Closing or closed; opens nothing more. */
  CLOSED
}
