package io.pgsteward.postgres;

import io.pgsteward.budget.ServerLimits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one look at PostgreSQL showed. Immutable.
 *
 * @param startedNanos when the look began, on the observer's ticker: a connection that ended before
 *     this moment is not in it
 * @param limits the server's settings
 * @param backends every client connection, the observer's own among them
 * @param ownPid the observer's own backend, which is foreign whatever its role
 * @param complete false if missing rights ({@code pg_monitor}) hide what kind some rows are; then
 *     every row counts as a client connection
 * @param roles null when role limits are not enforced
 */
public record Observation(
    long startedNanos,
    ServerLimits limits,
    List<Backend> backends,
    int ownPid,
    boolean complete,
    @Nullable Roles roles) {

  /**
   * The login roles, looked at after the backends.
   *
   * @param rights by which right their limits can be changed
   * @param endedNanos when this look had returned
   */
  public record Roles(List<LoginRole> all, LimitRights rights, long endedNanos) {

    public Roles {
      all = List.copyOf(all);
    }
  }

  public Observation {
    backends = List.copyOf(backends);
  }

  /** The same look with the roles. */
  Observation with(Roles seen) {
    return new Observation(startedNanos, limits, backends, ownPid, complete, seen);
  }

  /** A look without roles. */
  public Observation(
      long startedNanos,
      ServerLimits limits,
      List<Backend> backends,
      int ownPid,
      boolean complete) {
    this(startedNanos, limits, backends, ownPid, complete, null);
  }
}
