package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.TenantGrant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Pools that do what they are told and show what the test says. */
final class FakeTenants implements SessionTenants {
  static final TenantId WEB = TenantId.of("web", "shop");

  final LinkedBlockingQueue<Integer> limits = new LinkedBlockingQueue<>();
  final AtomicInteger reports = new AtomicInteger();
  final List<Integer> gone = new CopyOnWriteArrayList<>();
  volatile TenantFigures figures = figures(0, 0);
  volatile int limit = -1;
  volatile int limitAtReport = -1;
  volatile String refused = "";
  volatile boolean broken;
  volatile Runnable beforeLimit = () -> {};

  static TenantFigures figures(int demand, int open) {
    return new TenantFigures(WEB, demand, Math.max(0, demand - open), 0, 0, open, 0, 0, List.of());
  }

  @Override
  public void apply(Map<TenantId, Integer> wanted, Map<TenantId, String> refusals) {
    if (broken) {
      throw new IllegalStateException("broken on purpose");
    }
    beforeLimit.run();
    int before = limit;
    limit = wanted.getOrDefault(WEB, -1);
    refused = refusals.getOrDefault(WEB, "");
    if (limit != before) {
      limits.add(limit);
    }
  }

  @Override
  public List<TenantFigures> report() {
    reports.incrementAndGet();
    limitAtReport = limit;
    return List.of(figures);
  }

  @Override
  public List<TenantFigures> figures() {
    return List.of(figures);
  }

  @Override
  public void gone(List<TenantGrant> grants) {
    grants.forEach(grant -> gone.addAll(grant.gone()));
  }

  @Override
  public void tidy() {}

  void awaitLimit(int wanted) throws InterruptedException {
    long by = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    List<Integer> seen = new ArrayList<>();
    while (System.nanoTime() - by < 0) {
      Integer next = limits.poll(by - System.nanoTime(), TimeUnit.NANOSECONDS);
      seen.add(next);
      if (next != null && next == wanted) {
        return;
      }
    }
    throw new AssertionError("limit " + wanted + " was not applied, only " + seen);
  }
}
