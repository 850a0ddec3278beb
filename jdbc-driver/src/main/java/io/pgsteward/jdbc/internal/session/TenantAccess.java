package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.PoolUsage;
import io.pgsteward.jdbc.internal.pool.TenantPool;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One DataSource's way to its tenant's pool, which is made at the first demand, shared with every
 * DataSource of the same tenant, and dropped when nobody has wanted it for long. Thread-safe.
 */
public final class TenantAccess implements AutoCloseable {

  private final Member member;
  private final MemberTenant tenant;
  private final PoolEvents events;
  private final AtomicBoolean closed = new AtomicBoolean();

  TenantAccess(Member member, MemberTenant tenant, PoolEvents events) {
    this.member = member;
    this.tenant = tenant;
    this.events = events;
  }

  /**
   * Borrows a connection.
   *
   * @param timeoutNanos the longest wait
   * @throws SQLException as the explain function of the tenant says
   */
  public Connection getConnection(long timeoutNanos) throws SQLException {
    TenantPool pool = tenant.pool();
    if (pool != null) {
      try {
        return pool.getConnection(timeoutNanos);
      } catch (PoolDroppedException e) {
        // between reading the field and borrowing the idle pool was dropped: make it again
      }
    }
    return fromNewPool(timeoutNanos);
  }

  /** Making the pool counts as waiting: the call has one deadline. */
  private Connection fromNewPool(long timeoutNanos) throws SQLException {
    long begun = System.nanoTime();
    while (true) {
      TenantPool pool = member.poolFor(tenant);
      try {
        return pool.getConnection(Math.max(1, timeoutNanos - (System.nanoTime() - begun)));
      } catch (PoolDroppedException e) {
        // dropped again before the first borrow, which takes a minute of not being scheduled
      }
    }
  }

  /** The pool read in one moment; null while the tenant has none, since nobody wants anything. */
  public @Nullable PoolUsage usage() {
    TenantPool pool = tenant.pool();
    return pool == null ? null : pool.usage();
  }

  /** What the member knows about the tenant; null before the first demand. */
  public CoordinatorView.@Nullable Tenant grant() {
    return member.grantOf(tenant.id());
  }

  /**
   * Takes this DataSource out. With the last one of the tenant the pool is closed: waiting threads
   * fail, idle connections close, connections in use close when they come back. Idempotent.
   */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      member.leave(tenant, events);
    }
  }
}
