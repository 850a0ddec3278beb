package io.pgsteward.postgres;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Another coordinator leads on the instance. The message names it and says what to do. */
public final class LeadershipHeldException extends SQLException {

  private static final long serialVersionUID = 1L;

  private final String holder;
  private final @Nullable String address;
  private final boolean sameConfiguration;

  /**
   * @param holder how the leader calls itself, for people; never empty
   * @param address where members reach it as {@code host:port}, or null if nobody knows
   * @param sameConfiguration whether both run with the same roles, margin and enforcement
   */
  public LeadershipHeldException(
      String message, String holder, @Nullable String address, boolean sameConfiguration) {
    super(message);
    this.holder = holder;
    this.address = address;
    this.sameConfiguration = sameConfiguration;
  }

  /** How the leader calls itself, for people; its address if it has one. Never empty. */
  public String holder() {
    return holder;
  }

  /** Where members reach the leader as {@code host:port}, or null if nobody knows. */
  public @Nullable String address() {
    return address;
  }

  /**
   * Whether the leader runs with the same managed and foreign roles, margin and enforcement, so
   * that this coordinator may take over from it.
   */
  public boolean hasSameConfiguration() {
    return sameConfiguration;
  }
}
