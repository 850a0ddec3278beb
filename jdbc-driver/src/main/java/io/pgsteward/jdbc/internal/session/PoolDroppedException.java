package io.pgsteward.jdbc.internal.session;

import java.sql.SQLException;

/** The pool was dropped because it was idle for long; whoever meets it makes the pool again. */
final class PoolDroppedException extends SQLException {

  private static final long serialVersionUID = 1L;

  PoolDroppedException() {
    super("the idle pool was dropped");
  }

  /** Control flow, not an error: no stack trace. */
  @Override
  public Throwable fillInStackTrace() {
    return this;
  }
}
