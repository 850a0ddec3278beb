package io.pgsteward.ledger;

import java.util.List;

/**
 * What a member said about one tenant at one moment. Immutable.
 *
 * @param goesBy the limit that the member went by when it measured
 * @param demand slots it could use
 * @param waiting threads that waited
 * @param opening connections being opened; they have no pid yet
 * @param held opening + open + closing
 * @param pids backends of the connections that are open or closing, as far as known
 */
public record Report(
    int goesBy, int demand, int waiting, int opening, int held, List<Integer> pids) {

  /** What a tenant that a member leaves out of its snapshot amounts to. */
  public static final Report NOTHING = new Report(0, 0, 0, 0, 0, List.of());

  public Report {
    pids = List.copyOf(pids);
  }

  /** The most that the member could hold when it measured: its limit, or more from before. */
  public int bound() {
    return Math.max(goesBy, held);
  }
}
