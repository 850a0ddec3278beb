package io.pgsteward.jdbc;

import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A borrower got no connection because some limit was full. SQLState 53300, whichever limit it was.
 * The message says which one, with the figures, who holds the slots as far as known, and what the
 * coordinator's state was. A later try may succeed.
 */
public final class NoSlotException extends SQLTransientConnectionException {

  private static final long serialVersionUID = 1L;

  /** The SQLState of every exception of this class: too_many_connections. */
  public static final String SQL_STATE = "53300";

  /** Which limit was full. */
  private final FullLimit limit;

  /** The tenant that asked. */
  private final String tenant;

  /** How long it waited. */
  private final Duration waited;

  NoSlotException(
      String message, FullLimit limit, String tenant, Duration waited, @Nullable Throwable cause) {
    super(message, SQL_STATE, cause);
    this.limit = limit;
    this.tenant = tenant;
    this.waited = waited;
  }

  /** Which limit was full. */
  public FullLimit limit() {
    return limit;
  }

  /** The tenant that asked: role@database, with the label if it has one. */
  public String tenant() {
    return tenant;
  }

  /** How long the borrower waited; zero if it was not allowed to wait. */
  public Duration waited() {
    return waited;
  }
}
