package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.pool.BorrowFailure;
import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.PoolRuntime;
import io.pgsteward.jdbc.internal.pool.TenantPool;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.TenantGrant;
import java.sql.SQLException;
import java.sql.SQLNonTransientException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A started runtime that leases slots: shared by this process's DataSources with equal coordinator,
 * instance and token. It holds one pool for each tenant that is in demand and one session with the
 * coordinator, both made when first needed: a member whose DataSources were never asked for a
 * connection has no thread.
 *
 * <p>Lock rule: {@code lock} guards the map of tenants and their making and ending. The session's
 * lock may be taken under it, never the other way round. Pools are closed outside of it.
 */
public final class Member {

  /** How long an idle pool without a grant is kept (rule L5). */
  private static final Duration KEEP_IDLE = Duration.ofSeconds(60);

  private static final Duration LONGEST_LEAVE = Duration.ofSeconds(2);
  private static final Duration LONGEST_CLOSE = Duration.ofSeconds(1);

  private final MemberSettings settings;
  private final MemberId id;
  private final MemberClock clock;
  private final Duration keepIdle;
  private final CoordinatorSession session;
  private final PoolRuntime runtime;

  private final ReentrantLock lock = new ReentrantLock();
  private final Map<TenantId, MemberTenant> tenants = new TreeMap<>(); // guarded by lock
  private boolean closed; // guarded by lock

  /** Makes the way to a coordinator when a member starts. */
  interface Transport {
    CoordinatorClient connect(MemberId member);
  }

  Member(
      MemberSettings settings,
      SessionSettings sessionSettings,
      Transport transport,
      MemberClock clock,
      Duration keepIdle) {
    this.settings = settings;
    this.id = MemberId.random();
    this.clock = clock;
    this.keepIdle = keepIdle;
    this.runtime = new PoolRuntime(clock.ticker());
    this.session =
        new CoordinatorSession(id, sessionSettings, transport.connect(id), clock, new Tenants());
  }

  static Member create(MemberSettings settings) {
    return new Member(
        settings,
        SessionSettings.of(settings.instance(), settings.name()),
        member ->
            settings.isLocal()
                ? LocalCoordinator.of(settings)
                : new HttpCoordinatorClient(settings.coordinators(), settings.token()),
        MemberClock.system(),
        KEEP_IDLE);
  }

  /**
   * The member of this process for these settings, started if there is none. Costs no thread and no
   * connection. Each join is ended by one {@link #release}.
   */
  public static Member join(MemberSettings settings) {
    return MemberRegistry.PROCESS.join(settings);
  }

  /**
   * Ends one join. The last one closes the member: pools are closed, slots given back and the
   * coordinator told. Blocks at most a few seconds, and much less if nothing is in use.
   */
  public void release() {
    MemberRegistry.PROCESS.release(this);
  }

  /** Random for each start. */
  public MemberId id() {
    return id;
  }

  MemberSettings settings() {
    return settings;
  }

  /** What is known about the coordinator now. */
  public CoordinatorView coordinatorState() {
    return session.view();
  }

  CoordinatorView.@Nullable Tenant grantOf(TenantId tenant) {
    return session.view(tenant);
  }

  /**
   * Takes a DataSource in. DataSources of one tenant share its pool and so must agree on it.
   *
   * @param explain makes the exception for a borrower that gets no connection; the one given with
   *     the first DataSource of a tenant serves them all
   * @param events told about the tenant's pool until the access is closed
   * @throws SQLException if the tenant is in use with other settings, or the member is closed
   */
  public TenantAccess access(
      TenantSettings wanted, Function<BorrowFailure, SQLException> explain, PoolEvents events)
      throws SQLException {
    lock.lock();
    try {
      if (closed) {
        throw closedException(wanted.tenant());
      }
      MemberTenant tenant = tenants.get(wanted.tenant());
      if (tenant != null && tenant.users() > 0) {
        List<String> differences = tenant.settings().differences(wanted);
        if (!differences.isEmpty()) {
          throw new SQLNonTransientException(
              "tenant "
                  + wanted.tenant()
                  + " is in use in this process with other settings (different: "
                  + String.join(", ", differences)
                  + "). DataSources of one tenant share one pool: make their settings equal, or set"
                  + " tenant=LABEL on one of them so that it is a tenant of its own",
              "08004");
        }
      } else {
        MemberTenant fresh = new MemberTenant(wanted, explain);
        if (tenant != null) {
          fresh.inherit(tenant);
        }
        tenant = fresh;
        tenants.put(wanted.tenant(), tenant);
      }
      tenant.used();
      tenant.listeners().add(events);
      return new TenantAccess(this, tenant, events);
    } finally {
      lock.unlock();
    }
  }

  private static SQLException closedException(TenantId tenant) {
    return new SQLNonTransientException("the pool of tenant " + tenant + " is closed", "08003");
  }

  /** The tenant's pool, made now if there is none. */
  TenantPool poolFor(MemberTenant tenant) throws SQLException {
    TenantPool pool;
    lock.lock();
    try {
      if (closed || tenant.users() == 0) {
        throw closedException(tenant.id());
      }
      pool = tenant.pool();
      if (pool == null) {
        TenantSettings wanted = tenant.settings();
        int limit =
            session.register(
                tenant.id(),
                wanted.fallbackSlots(),
                wanted.pool().cap(),
                wanted.pool().connectTimeout());
        pool = tenant.make(runtime, new Events(tenant), tenant.beside(limit));
      }
    } finally {
      lock.unlock();
    }
    session.start();
    return pool;
  }

  void leave(MemberTenant tenant, PoolEvents events) {
    TenantPool pool = null;
    lock.lock();
    try {
      tenant.listeners().remove(events);
      tenant.unused();
      if (tenant.users() == 0) {
        pool = tenant.retire(false);
        retireFromBook(tenant, pool);
      }
    } finally {
      lock.unlock();
    }
    if (pool != null) {
      pool.close();
      session.urgent();
      awaitClosed(pool, LONGEST_CLOSE.toNanos());
    }
  }

  /**
   * Under the same lock that a new pool is made and registered under: a tenant whose next pool
   * lives must not drop out of the book.
   */
  private void retireFromBook(MemberTenant tenant, @Nullable TenantPool retired) {
    if (retired != null) {
      session.retire(tenant.id());
    }
  }

  /** Closes everything; called once, by the registry. */
  void shutDown() {
    List<TenantPool> pools = new ArrayList<>();
    lock.lock();
    try {
      closed = true;
      for (MemberTenant tenant : tenants.values()) {
        tenant.retire(false);
        pools.addAll(tenant.retired());
      }
    } finally {
      lock.unlock();
    }
    pools.forEach(TenantPool::close);
    session.leave(LONGEST_LEAVE);
    long by = System.nanoTime() + LONGEST_CLOSE.toNanos();
    for (TenantPool pool : pools) {
      awaitClosed(pool, by - System.nanoTime());
    }
    runtime.close();
  }

  /** Waits for idle connections to close, and not for loans, which come back when they do. */
  private static void awaitClosed(TenantPool pool, long nanos) {
    if (pool.usage().inUse() > 0) {
      return;
    }
    try {
      pool.awaitClosed(Math.max(0, nanos));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the caller is in a hurry: closing goes on without it
    }
  }

  private List<MemberTenant> tenants() {
    lock.lock();
    try {
      return List.copyOf(tenants.values());
    } finally {
      lock.unlock();
    }
  }

  /** What the session does with the pools. */
  private final class Tenants implements SessionTenants {

    private record Change(MemberTenant tenant, int limit) {
      boolean raises() {
        return limit > tenant.applied();
      }
    }

    @Override
    public void apply(Map<TenantId, Integer> limits, Map<TenantId, String> refused) {
      List<Change> changes = new ArrayList<>();
      for (MemberTenant tenant : tenants()) {
        Integer limit = limits.get(tenant.id());
        if (limit != null) {
          changes.add(new Change(tenant, tenant.beside(limit)));
        }
      }
      changes.sort(Comparator.comparing(Change::raises));
      for (Change change : changes) {
        change.tenant().limit(change.limit());
        TenantPool pool = change.tenant().pool();
        if (pool != null) {
          pool.refuse(refused.get(change.tenant().id()));
        }
      }
    }

    @Override
    public List<TenantFigures> report() {
      return figures(true);
    }

    @Override
    public List<TenantFigures> figures() {
      return figures(false);
    }

    private List<TenantFigures> figures(boolean report) {
      List<TenantFigures> figures = new ArrayList<>();
      for (MemberTenant tenant : tenants()) {
        TenantFigures of = tenant.figures(report);
        if (of != null) {
          figures.add(of);
        }
      }
      return figures;
    }

    @Override
    public void gone(List<TenantGrant> grants) {
      for (TenantGrant grant : grants) {
        for (MemberTenant tenant : grant.gone().isEmpty() ? List.<MemberTenant>of() : tenants()) {
          if (tenant.id().toString().equals(grant.tenant())) {
            tenant.gone(grant.gone());
          }
        }
      }
    }

    @Override
    public void tidy() {
      Moment now = clock.now();
      for (MemberTenant tenant : tenants()) {
        TenantPool idle = null;
        lock.lock();
        try {
          tenant.forgetEmptied();
          if (tenant.idleFor(keepIdle.toNanos(), isIdle(tenant), now)) {
            idle = tenant.retire(true);
            retireFromBook(tenant, idle);
          }
          if (tenant.users() == 0 && tenant.pool() == null && tenant.retired().isEmpty()) {
            tenants.remove(tenant.id(), tenant);
          }
        } finally {
          lock.unlock();
        }
        if (idle != null) {
          idle.close();
          session.urgent();
        }
      }
    }

    private boolean isIdle(MemberTenant tenant) {
      TenantFigures figures = tenant.pool() == null ? null : tenant.figures(false);
      CoordinatorView.Tenant grant = session.view(tenant.id());
      return figures != null && figures.idle() && (grant == null || grant.grant() == 0);
    }
  }

  /** What a tenant's pool tells: the session hears what concerns it, the listeners everything. */
  private final class Events implements PoolEvents {
    private final MemberTenant tenant;

    Events(MemberTenant tenant) {
      this.tenant = tenant;
    }

    @Override
    public void demandRose() {
      session.urgent();
      tenant.listeners().forEach(PoolEvents::demandRose);
    }

    @Override
    public void slotReleased() {
      session.urgent();
      tenant.listeners().forEach(PoolEvents::slotReleased);
    }

    @Override
    public int limitFromEmpty(int limit) {
      return session.limitFromEmpty(tenant.id(), limit, tenant.settings().fallbackSlots());
    }

    @Override
    public void opened(int pid, long nanos) {
      tenant.listeners().forEach(listener -> listener.opened(pid, nanos));
    }

    @Override
    public void closed(int pid) {
      tenant.listeners().forEach(listener -> listener.closed(pid));
    }

    @Override
    public void closeUnconfirmed(int pid) {
      tenant.listeners().forEach(listener -> listener.closeUnconfirmed(pid));
    }

    @Override
    public void openFailed(SQLException failure) {
      tenant.listeners().forEach(listener -> listener.openFailed(failure));
    }

    @Override
    public void borrowed(long waitNanos) {
      tenant.listeners().forEach(listener -> listener.borrowed(waitNanos));
    }

    @Override
    public void timedOut(long waitNanos) {
      tenant.listeners().forEach(listener -> listener.timedOut(waitNanos));
    }
  }
}
