package io.pgsteward.server.config;

/** A password or bearer token. Its text comes out by {@link #reveal} alone. Immutable. */
public final class Secret {

  private final String text;

  public Secret(String text) {
    this.text = text;
  }

  /** The secret itself; for the place that needs it, never for a log or a message. */
  public String reveal() {
    return text;
  }

  @Override
  public String toString() {
    return "(secret)";
  }
}
