package io.pgsteward.jdbc;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One tenant in this process at one moment. The pool's figures are read together; what is known of
 * the coordinator may be a moment older. Immutable.
 *
 * @param tenant {@code role@database} or {@code role@database/label}
 * @param poolName the name in metrics
 * @param limit connections that this process may hold now: its grant, or {@code fallbackSlots}, at
 *     most {@code cap}
 * @param cap {@code maximumPoolSize}; null when none was given
 * @param inUse connections that the application has
 * @param idle connections that wait to be used
 * @param opening connections being opened
 * @param closing connections being closed whose backend was not yet seen to exit
 * @param waiting threads that wait for a connection
 * @param longestWait how long the first of them has waited; zero when none waits
 * @param demand connections that the process could use: in use + waiting + opening, as the maximum
 *     over a short window
 * @param counters what has happened since the start
 * @param coordinator what the process knows of its coordinator
 */
public record TenantSnapshot(
    String tenant,
    String poolName,
    int limit,
    @Nullable Integer cap,
    int inUse,
    int idle,
    int opening,
    int closing,
    int waiting,
    Duration longestWait,
    int demand,
    Counters counters,
    Coordinator coordinator) {

  /** Connections that this process holds: in use, idle, opening and closing. */
  public int held() {
    return inUse + idle + opening + closing;
  }

  /**
   * What has happened since the pool was made; each figure only grows. A pool that nobody has
   * wanted for long is dropped, and its next one begins at zero. Immutable.
   *
   * @param borrowed connections handed to the application
   * @param timedOut borrowers that got none in time
   * @param opened physical connections opened
   * @param closed physical connections closed
   * @param failedOpens openings that failed, those of {@code refusedOpens} not counted
   * @param refusedOpens openings that PostgreSQL refused because a limit was reached
   * @param nestedWaits borrowers that had to wait while their thread held a connection already
   * @param unconfirmedCloses closes whose backend was not seen to exit in time
   * @param waitedNanos time that all {@code borrowed} waited, in nanoseconds
   * @param openingNanos time that all {@code opened} took to open, in nanoseconds
   */
  public record Counters(
      long borrowed,
      long timedOut,
      long opened,
      long closed,
      long failedOpens,
      long refusedOpens,
      long nestedWaits,
      long unconfirmedCloses,
      long waitedNanos,
      long openingNanos) {

    /** Nothing has happened yet. */
    static final Counters NONE = new Counters(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  }

  /**
   * What a process knows of its coordinator. Immutable.
   *
   * @param address who is asked, or {@code local}
   * @param usable whether grants are had from it now
   * @param state its state in words, for people
   * @param leaseLeft what is left of the lease; zero when it has ended or never began
   * @param budget what the whole system may open on the server; -1 while unknown
   * @param granted what all tenants together are granted; -1 while unknown
   * @param tenantGranted what all processes together are granted for this tenant; -1 while unknown
   * @param tenantMax the tenant's max; null when only the budget limits it, or while unknown
   */
  public record Coordinator(
      String address,
      boolean usable,
      String state,
      Duration leaseLeft,
      int budget,
      int granted,
      int tenantGranted,
      @Nullable Integer tenantMax) {}
}
