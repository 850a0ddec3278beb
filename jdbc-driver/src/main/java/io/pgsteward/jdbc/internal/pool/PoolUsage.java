package io.pgsteward.jdbc.internal.pool;

import java.util.List;

/**
 * A pool read in one moment. Immutable.
 *
 * @param limit physical connections that the pool may hold: the last {@link TenantPool#limit}, at
 *     most the cap
 * @param demand slots it could use: in use plus what its waiting threads need, as the maximum over
 *     the last second, at most the cap
 * @param waiting threads that wait now
 * @param longestWaitNanos how long the first of them has waited; 0 when none waits
 * @param inUse connections lent to the application
 * @param idle open connections that nobody uses
 * @param opening connections being opened
 * @param open connections open, idle or in use
 * @param closing connections being closed whose backend was not yet seen to exit
 * @param pids process ids of the backends of {@code open} and {@code closing}, as far as known,
 *     ascending
 * @param counters what happened since the pool was made
 */
public record PoolUsage(
    int limit,
    int demand,
    int waiting,
    long longestWaitNanos,
    int inUse,
    int idle,
    int opening,
    int open,
    int closing,
    List<Integer> pids,
    Counters counters) {

  public PoolUsage {
    pids = List.copyOf(pids);
  }

  /** Physical connections: opening + open + closing. */
  public int held() {
    return opening + open + closing;
  }

  PoolUsage with(Counters other) {
    return new PoolUsage(
        limit, demand, waiting, longestWaitNanos, inUse, idle, opening, open, closing, pids, other);
  }

  /**
   * Events since the pool was made; each only grows. Immutable.
   *
   * @param borrowed connections handed to the application
   * @param timedOut borrowers whose deadline passed
   * @param opened connections opened
   * @param closed connections closed, their backends seen to exit or given up
   * @param failedOpens openings that failed, 53300 not counted
   * @param refused53300 openings that PostgreSQL refused because a limit was full
   * @param selfWaits borrowers that had to wait while their thread held a connection of the tenant
   * @param unconfirmedCloses closes whose backend was not seen to exit within the close timeout
   * @param gaveUpCloses of these, the ones that nobody could ever confirm
   */
  public record Counters(
      long borrowed,
      long timedOut,
      long opened,
      long closed,
      long failedOpens,
      long refused53300,
      long selfWaits,
      long unconfirmedCloses,
      long gaveUpCloses) {

    static final Counters NONE = new Counters(0, 0, 0, 0, 0, 0, 0, 0, 0);
  }
}
