package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.TenantReport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Makes the reports of one member on one instance. Not thread-safe.
 *
 * <p>A report names the epoch and generation whose limits were applied to the pools <em>before</em>
 * its figures were read, so that a report naming a lowering was measured under it (rule S3). The
 * caller keeps that order; this class keeps the numbering.
 */
final class Reports {

  private final @Nullable String instance;
  private final String name;
  private long sequence;
  private Map<TenantId, TenantFigures> sent = Map.of();

  Reports(@Nullable String instance, String name) {
    this.instance = instance;
    this.name = name;
  }

  /**
   * The next report.
   *
   * @param book what the member goes by, applied to the pools before the figures were read
   * @param leaving whether the member wants nothing more
   * @param renews whether it is to be answered at once
   */
  SyncRequest next(
      GrantBook book,
      List<TenantFigures> figures,
      long connectTimeoutMillis,
      boolean leaving,
      boolean renews) {
    Map<TenantId, TenantFigures> byTenant = new HashMap<>();
    figures.forEach(of -> byTenant.put(of.tenant(), of));
    List<TenantReport> tenants = new ArrayList<>();
    Map<TenantId, Integer> limits = book.limits();
    limits.keySet().forEach(tenant -> byTenant.putIfAbsent(tenant, nothing(tenant)));
    Set<TenantId> refused = book.refusals().keySet();
    for (TenantFigures of : byTenant.values()) {
      int limit = leaving ? 0 : limits.getOrDefault(of.tenant(), 0);
      // A refused tenant is named as long as it has a pool, so as to hear when it no longer is.
      if (limit > 0 || !of.idle() || refused.contains(of.tenant())) {
        tenants.add(report(of, limit, leaving));
      }
    }
    sent = byTenant;
    return new SyncRequest(
        SyncRequest.VERSION,
        instance,
        name,
        ++sequence,
        book.epoch(),
        book.generation(),
        connectTimeoutMillis,
        leaving ? MemberPhase.CLOSED : book.phase(),
        leaving,
        renews,
        tenants);
  }

  private static TenantFigures nothing(TenantId tenant) {
    return new TenantFigures(tenant, 0, 0, 0, 0, 0, 0, 0, List.of());
  }

  private static TenantReport report(TenantFigures of, int limit, boolean leaving) {
    return new TenantReport(
        of.tenant().toString(),
        limit,
        leaving ? 0 : Math.min(of.demand(), TenantReport.MOST), // threads may be more than slots
        leaving ? 0 : of.waiting(),
        leaving ? 0 : TimeUnit.NANOSECONDS.toMillis(of.longestWaitNanos()),
        of.opening(),
        of.open(),
        of.closing(),
        of.pids());
  }

  /**
   * Whether these figures hold something that the coordinator should hear soon: demand fell, so
   * that a slot is free for others; more or fewer connections; other process ids; nobody waits any
   * more. A rise of demand is not looked for here: the pool calls out at once.
   */
  boolean newsIn(List<TenantFigures> figures) {
    int seen = 0;
    for (TenantFigures now : figures) {
      TenantFigures then = sent.get(now.tenant());
      if (then == null) {
        return true;
      }
      seen++;
      if (now.demand() < then.demand()
          || (now.waiting() == 0) != (then.waiting() == 0)
          || now.opening() != then.opening()
          || now.open() != then.open()
          || now.closing() != then.closing()
          || !now.pids().equals(then.pids())) {
        return true;
      }
    }
    return seen < sent.values().stream().filter(then -> !then.idle()).count();
  }
}
