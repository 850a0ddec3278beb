package io.pgsteward.jdbc;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The errors of a borrower, in one vocabulary: who asked and for how long, which limit is full, the
 * figures, who holds the slots as far as known, the coordinator's state, and what to do. Pure;
 * thread-safe.
 */
final class BorrowErrors {

  /** The server did not answer, or there is no way to it. */
  static final String UNREACHABLE = "08001";

  /** Making the pool takes less once the JVM is warm. */
  private static final long WORTH_SAYING_MILLIS = 10;

  /** The coordinator will not have this tenant. */
  private static final String REJECTED = "08004";

  /** The DataSource is closed. */
  private static final String CLOSED = "08003";

  private final ConnectionTarget target;

  BorrowErrors(ConnectionTarget target) {
    this.target = target;
  }

  /**
   * The time ended before a connection could be had.
   *
   * @param limit how long the borrower could wait: {@code connectionTimeout}, or what was asked for
   * @param waited how long it waited; what is missing to the limit went to making the pool
   * @param opening what the last failed opening said, or null if none failed
   * @param nested whether the borrower's thread already held a connection of the tenant
   */
  SQLException timedOut(
      TenantSnapshot state,
      Duration limit,
      Duration waited,
      @Nullable SQLException opening,
      boolean nested) {
    String after = after(state, limit, waited);
    FullLimit refusal = PostgresRefusal.limitOf(opening);
    boolean slotFree = state.inUse() < state.limit();
    if (refusal == null && slotFree && (opening != null || state.opening() > 0)) {
      return unreachable(state, after, opening);
    }
    FullLimit full = refusal != null && slotFree ? refusal : limitInForce(state);
    return new NoSlotException(
        after
            + sentence(full, state)
            + figures(state)
            + nestedHint(nested)
            + " What helps: "
            + advice(full, state)
            + ".",
        full,
        state.tenant(),
        waited,
        opening);
  }

  private static FullLimit limitInForce(TenantSnapshot state) {
    TenantSnapshot.Coordinator coordinator = state.coordinator();
    Integer cap = state.cap();
    if (cap != null && state.limit() >= cap) {
      return FullLimit.PROCESS_CAP;
    }
    if (!coordinator.usable()) {
      return FullLimit.MEMBER_GRANT;
    }
    Integer max = coordinator.tenantMax();
    if (max != null && coordinator.tenantGranted() >= max) {
      return FullLimit.TENANT_MAX;
    }
    return coordinator.budget() >= 0 && coordinator.granted() >= coordinator.budget()
        ? FullLimit.BUDGET
        : FullLimit.MEMBER_GRANT;
  }

  /** The borrower was not allowed to wait. */
  NoSlotException tooManyWaiters(TenantSnapshot state, int maxWaiters) {
    return new NoSlotException(
        state.tenant()
            + ": no connection is free, and as many threads wait as may wait (maxWaiters="
            + maxWaiters
            + ")"
            + figures(state),
        FullLimit.WAITERS,
        state.tenant(),
        Duration.ZERO,
        null);
  }

  private static String after(TenantSnapshot state, Duration limit, Duration waited) {
    long made = limit.minus(waited).toMillis();
    return state.tenant()
        + ": no connection within "
        + limit.toMillis()
        + " ms"
        + (made < WORTH_SAYING_MILLIS ? "" : ", of which making the pool took " + made + " ms")
        + ": ";
  }

  private String sentence(FullLimit limit, TenantSnapshot state) {
    TenantSnapshot.Coordinator coordinator = state.coordinator();
    return switch (limit) {
      case TENANT_MAX ->
          "the tenant's max of "
              + coordinator.tenantMax()
              + " is reached; "
              + here(state)
              + ", "
              + elsewhere(state);
      case MEMBER_GRANT -> memberGrant(state);
      case BUDGET ->
          "the budget of "
              + coordinator.budget()
              + " is granted in full; "
              + here(state)
              + ", "
              + elsewhere(state)
              + ", "
              + others(coordinator);
      case ROLE_LIMIT ->
          "PostgreSQL refuses another connection of role "
              + target.tenant().role()
              + ", whose CONNECTION LIMIT is reached; "
              + here(state);
      case DATABASE_LIMIT ->
          "PostgreSQL refuses another connection to database "
              + target.tenant().database()
              + ", whose CONNECTION LIMIT is reached; "
              + here(state);
      case SERVER ->
          "PostgreSQL is full (max_connections, or only reserved slots are left); " + here(state);
      case PROCESS_CAP -> "the cap maximumPoolSize=" + state.cap() + " of this process is reached";
      case WAITERS -> throw new IllegalArgumentException("nobody waited");
    };
  }

  private static String memberGrant(TenantSnapshot state) {
    TenantSnapshot.Coordinator coordinator = state.coordinator();
    if (!coordinator.usable()) {
      return state.limit() == 0
          ? "this process has no slot until its coordinator answers"
          : "all "
              + slots(state.limit())
              + " of this process are taken, and without its coordinator it gets no more";
    }
    String grant =
        state.limit() == 0
            ? "this process is granted no slot"
            : "all " + slots(state.limit()) + " granted to this process are taken";
    int free = coordinator.budget() - coordinator.granted();
    return grant + "; " + elsewhere(state) + ", " + others(coordinator) + ", " + free + " are free";
  }

  private static String here(TenantSnapshot state) {
    return "this process holds " + (state.held() - state.opening());
  }

  private static String elsewhere(TenantSnapshot state) {
    int other = Math.max(0, state.coordinator().tenantGranted() - state.limit());
    return "other processes of the tenant are granted " + other;
  }

  private static String others(TenantSnapshot.Coordinator coordinator) {
    int other = Math.max(0, coordinator.granted() - Math.max(0, coordinator.tenantGranted()));
    return "other tenants " + other;
  }

  private static String slots(int count) {
    return count + (count == 1 ? " slot" : " slots");
  }

  private static String figures(TenantSnapshot state) {
    return " [limit="
        + state.limit()
        + ", in-use="
        + state.inUse()
        + ", idle="
        + state.idle()
        + ", opening="
        + state.opening()
        + ", closing="
        + state.closing()
        + ", waiting="
        + state.waiting()
        + ", longest-wait="
        + state.longestWait().toMillis()
        + "ms; "
        + state.coordinator().state()
        + "].";
  }

  private static String nestedHint(boolean nested) {
    return nested
        ? " This thread already holds a connection of the tenant and asks for another one while"
            + " keeping it: when enough threads do so, all wait for each other until the timeout."
        : "";
  }

  private static String advice(FullLimit limit, TenantSnapshot state) {
    return switch (limit) {
      case TENANT_MAX -> "a larger max in the coordinator's configuration, or shorter transactions";
      case MEMBER_GRANT -> memberAdvice(state.coordinator());
      case BUDGET ->
          "a guarantee for the tenant, shorter transactions, or a larger max_connections";
      case ROLE_LIMIT, DATABASE_LIMIT ->
          "look for connections outside PgSteward in pg_stat_activity, or raise the limit";
      case SERVER -> "look for other programs in pg_stat_activity, or raise max_connections";
      case PROCESS_CAP -> "leave maximumPoolSize out, or raise it";
      case WAITERS -> "a larger maxWaiters";
    };
  }

  private static String memberAdvice(TenantSnapshot.Coordinator coordinator) {
    if (coordinator.usable()) {
      return "a longer connectionTimeout, a guarantee for the tenant, or shorter transactions";
    }
    return coordinator.budget() < 0
        ? "a coordinator that answers (it has not been heard yet); until then a process has"
            + " fallbackSlots"
        : "bring the coordinator back; fallbackSlots is what a process has without it";
  }

  /** A slot was free, but no physical connection came of it in time. */
  private SQLException unreachable(
      TenantSnapshot state, String after, @Nullable SQLException opening) {
    String what =
        opening == null
            ? "PostgreSQL at " + hosts() + " has not answered " + openings(state.opening())
            : "PostgreSQL at " + hosts() + " cannot be reached: " + opening.getMessage();
    return new SQLTransientConnectionException(after + what + figures(state), UNREACHABLE, opening);
  }

  private static String openings(int count) {
    return count == 1 ? "1 opening in progress" : count + " openings in progress";
  }

  private String hosts() {
    return String.join(", ", target.hosts())
        + (target.openTimeout().isZero()
            ? ""
            : " (at most " + target.openTimeout().toSeconds() + " s for an opening)");
  }

  /** An opening failed in a way that waiting does not heal, such as a wrong password. */
  SQLException openFailed(SQLException cause) {
    return new SQLNonTransientConnectionException(
        target.tenant()
            + ": PostgreSQL at "
            + String.join(", ", target.hosts())
            + " refuses the connection: "
            + cause.getMessage(),
        cause.getSQLState(),
        cause.getErrorCode(),
        cause);
  }

  /** The coordinator's configuration has no place for the tenant. */
  SQLException refused(TenantSnapshot.Coordinator coordinator, String reason) {
    return new SQLNonTransientConnectionException(
        target.tenant()
            + ": the coordinator grants this tenant nothing: "
            + reason
            + " ["
            + coordinator.state()
            + "].",
        REJECTED);
  }

  SQLException closed() {
    return closed(target.tenant().toString());
  }

  /** The same for a DataSource that may never have known its tenant. */
  static SQLException closed(String who) {
    return new SQLNonTransientConnectionException(
        who + ": this DataSource is closed and gives no more connections", CLOSED);
  }

  /** The borrower's thread was interrupted; its flag is set again. */
  SQLException interrupted(Duration waited) {
    return new SQLTransientConnectionException(
        target.tenant()
            + ": the thread was interrupted after it had waited "
            + waited.toMillis()
            + " ms for a connection",
        UNREACHABLE);
  }
}
