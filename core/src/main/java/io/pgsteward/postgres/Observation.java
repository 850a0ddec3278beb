package io.pgsteward.postgres;

import io.pgsteward.budget.ServerLimits;
import java.util.List;

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
 */
public record Observation(
    long startedNanos, ServerLimits limits, List<Backend> backends, int ownPid, boolean complete) {

  public Observation {
    backends = List.copyOf(backends);
  }
}
