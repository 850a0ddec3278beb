package io.pgsteward.postgres;

import java.sql.SQLException;

/** Another coordinator leads on the instance. The message names it and says what to do. */
public final class LeadershipHeldException extends SQLException {

  private static final long serialVersionUID = 1L;

  private final String holder;

  /**
   * @param holder address of the leading coordinator, as its session shows it
   */
  public LeadershipHeldException(String message, String holder) {
    super(message);
    this.holder = holder;
  }

  /** Address of the leading coordinator, as its session shows it; never empty. */
  public String holder() {
    return holder;
  }
}
