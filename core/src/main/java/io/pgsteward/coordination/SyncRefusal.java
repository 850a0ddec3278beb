package io.pgsteward.coordination;

/** Why a coordinator does not take in a member's request. */
public enum SyncRefusal {
  /** The request breaks a rule of the protocol. */
  BAD_REQUEST("bad-request"),
  /** This coordinator does not lead on the instance; another may. */
  NOT_LEADING("not-leading"),
  /** The member has left; an id is never used again. */
  LEFT("left"),
  /** This coordinator is stopping. */
  CLOSING("closing");

  private final String code;

  SyncRefusal(String code) {
    this.code = code;
  }

  /** The stable word for it in {@code ErrorResponse.error}. */
  public String code() {
    return code;
  }
}
