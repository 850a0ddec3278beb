package io.pgsteward.protocol;

/** What a coordinator knows about an instance, and so what it may grant there. */
public enum CoordinatorPhase {
  /**
   * Started, and has not heard from everybody: members keep what they go by, nothing is granted.
   */
  LEARNING,
  /** Knows what every member holds; grants and reclaims. */
  SERVING,
  /** Does not lead; another coordinator does, or PostgreSQL has not been reached yet. */
  STANDBY
}
