package io.pgsteward.examples.demo;

import io.pgsteward.examples.demo.CoordinatorWatch.Look;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import io.pgsteward.testing.ActivitySampler.Sample;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** One line a second for both tenants, and PostgreSQL's own count beside them. */
final class LiveTable {

  private static final String TITLES =
      "            |             web                                 |             worker              "
          + "                | PostgreSQL sees\n"
          + "   s budget | demand granted held waiting  tx/s  p99 wait | demand granted held waiting  "
          + "tx/s  p99 wait | web worker ours others";

  private final Stage stage;
  private final long start;
  private final Map<String, Long> committedBefore = new HashMap<>();
  private long lastRow;

  LiveTable(Stage stage) {
    this.stage = stage;
    this.start = System.nanoTime();
    this.lastRow = start;
  }

  void titles() {
    System.out.println(TITLES);
  }

  /** Prints a line if a second has passed since the last one. */
  void rowIfDue() {
    if (System.nanoTime() - lastRow >= 1_000_000_000L) {
      row();
    }
  }

  private void row() {
    long now = System.nanoTime();
    double seconds = (now - lastRow) / 1e9;
    lastRow = now;
    Look look = stage.watch().latest();
    Sample sample = stage.witness().sampler().latest();
    int web = sample.count("web"::equals);
    int worker = sample.count("worker"::equals);
    int others = sample.count(role -> true) - web - worker;
    System.out.printf(
        Locale.ROOT,
        "%4d %6s |%s |%s | %3d %6d %4d %6d%n",
        (now - start) / 1_000_000_000L,
        look == null ? "away" : Integer.toString(look.status().budget().total()),
        tenant("web", look, seconds),
        tenant("worker", look, seconds),
        web,
        worker,
        web + worker,
        others);
  }

  /** The coordinator's figures; while it is away the sum of what the processes say. */
  private String tenant(String tenant, @Nullable Look look, double seconds) {
    long committed = stage.sum(tenant, Usage::committed);
    long before = committedBefore.getOrDefault(tenant, 0L);
    committedBefore.put(tenant, committed);
    long p99 = stage.waits(tenant).drainPercentile99();
    return String.format(
        Locale.ROOT,
        " %6d %7d %4d %7d %5.0f %9s",
        figure(tenant, look, TenantStatus::demand, Usage::demand),
        figure(tenant, look, TenantStatus::granted, Usage::limit),
        figure(tenant, look, TenantStatus::held, Usage::held),
        figure(tenant, look, TenantStatus::waiting, Usage::waiting),
        Math.max(0, committed - before) / seconds,
        p99 < 0 ? "-" : String.format(Locale.ROOT, "%.1f ms", p99 / 1e3));
  }

  private long figure(
      String tenant,
      @Nullable Look look,
      ToIntFunction<TenantStatus> ofCoordinator,
      ToIntFunction<Usage> ofProcesses) {
    return look != null
        ? look.of(tenant, ofCoordinator)
        : stage.sum(tenant, usage -> ofProcesses.applyAsInt(usage));
  }
}
