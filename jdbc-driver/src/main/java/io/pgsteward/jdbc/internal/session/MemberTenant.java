package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.pool.BorrowFailure;
import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.PoolRuntime;
import io.pgsteward.jdbc.internal.pool.PoolUsage;
import io.pgsteward.jdbc.internal.pool.TenantPool;
import io.pgsteward.model.TenantId;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One tenant in a member: its settings, its pool if it has one, and earlier pools that still hold
 * connections. Its pools are read by any thread; made, retired and counted under the member's lock;
 * and limited by the session's thread alone, but for a pool's first limit.
 */
final class MemberTenant {

  private final TenantSettings settings;
  private final Function<BorrowFailure, SQLException> explain;
  private final List<TenantPool> retired = new CopyOnWriteArrayList<>();
  private final List<PoolEvents> listeners = new CopyOnWriteArrayList<>();
  private volatile @Nullable Current current;
  private int users;
  private int applied;
  private @Nullable Moment idleSince;

  /** A pool, and whether its end is a dropping that borrowers should not see. */
  private static final class Current {
    private volatile @Nullable TenantPool pool;
    private volatile boolean dropped;
  }

  MemberTenant(TenantSettings settings, Function<BorrowFailure, SQLException> explain) {
    this.settings = settings;
    this.explain = explain;
  }

  TenantId id() {
    return settings.tenant();
  }

  TenantSettings settings() {
    return settings;
  }

  List<PoolEvents> listeners() {
    return listeners;
  }

  /** The pool, or null while there is none. Any thread, without a lock. */
  @Nullable TenantPool pool() {
    Current now = current;
    return now == null ? null : now.pool;
  }

  TenantPool make(PoolRuntime runtime, PoolEvents events, int limit) {
    Current made = new Current();
    TenantPool pool =
        new TenantPool(
            settings.pool(),
            runtime,
            events,
            failure ->
                made.dropped && failure instanceof BorrowFailure.Closed
                    ? new PoolDroppedException()
                    : explain.apply(failure));
    made.pool = pool;
    current = made;
    idleSince = null;
    limit(limit);
    return pool;
  }

  /**
   * Takes the pool away.
   *
   * @param dropped whether it was only idle, so that borrowers that meet it make another
   * @return the pool, to be closed outside of the lock; null if there was none
   */
  @Nullable TenantPool retire(boolean dropped) {
    Current old = current;
    if (old == null) {
      return null;
    }
    old.dropped = dropped;
    TenantPool pool = old.pool;
    if (pool != null) {
      retired.add(pool); // before it leaves the field: a reader may meet it twice but never miss it
    }
    current = null;
    return pool;
  }

  /** Takes over earlier pools of the same tenant that still hold connections. */
  void inherit(MemberTenant earlier) {
    retired.addAll(earlier.retired);
  }

  /** Earlier pools that may still hold connections. */
  List<TenantPool> retired() {
    return retired;
  }

  void forgetEmptied() {
    retired.removeIf(pool -> pool.usage().held() == 0);
  }

  /** What the tenant's grant leaves for the pool beside what earlier pools still hold. */
  int beside(int limit) {
    int held = 0;
    for (TenantPool pool : retired) {
      held += pool.usage().held();
    }
    return Math.max(0, limit - held);
  }

  /** PostgreSQL no longer shows these process ids. */
  void gone(List<Integer> pids) {
    TenantPool pool = pool();
    if (pool != null) {
      pool.gone(pids);
    }
    retired.forEach(earlier -> earlier.gone(pids));
  }

  int applied() {
    return applied;
  }

  /** Makes the pool go by a limit. */
  void limit(int slots) {
    TenantPool pool = pool();
    applied = slots;
    if (pool != null) {
      pool.limit(slots);
    }
  }

  int users() {
    return users;
  }

  void used() {
    users++;
  }

  void unused() {
    users--;
  }

  /**
   * Whether the pool has been idle for so long.
   *
   * @param idle whether it is idle now
   */
  boolean idleFor(long nanos, boolean idle, Moment now) {
    if (!idle) {
      idleSince = null;
      return false;
    }
    if (idleSince == null) {
      idleSince = now;
    }
    return now.since(idleSince) >= nanos;
  }

  /**
   * What the tenant wants and holds.
   *
   * @param report whether these figures go into a report
   * @return null if it has neither a pool nor connections
   */
  @Nullable TenantFigures figures(boolean report) {
    TenantPool pool = pool();
    List<TenantPool> earlier = List.copyOf(retired);
    if (pool == null && earlier.isEmpty()) {
      return null;
    }
    List<PoolUsage> usages = new ArrayList<>();
    if (pool != null && !earlier.contains(pool)) {
      usages.add(report ? pool.report() : pool.usage());
    }
    earlier.forEach(old -> usages.add(old.usage()));
    int demand = 0;
    int waiting = 0;
    long longestWait = 0;
    int opening = 0;
    int open = 0;
    int closing = 0;
    int inUse = 0;
    Set<Integer> pids = new TreeSet<>(); // PostgreSQL may use one again while we still count it
    for (PoolUsage usage : usages) {
      demand += usage.demand();
      waiting += usage.waiting();
      longestWait = Math.max(longestWait, usage.longestWaitNanos());
      opening += usage.opening();
      open += usage.open();
      closing += usage.closing();
      inUse += usage.inUse();
      pids.addAll(usage.pids());
    }
    return new TenantFigures(
        id(), demand, waiting, longestWait, opening, open, closing, inUse, List.copyOf(pids));
  }
}
