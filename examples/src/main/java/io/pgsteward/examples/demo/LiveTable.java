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

  private static final String OF_A_TENANT = "demand grant held wait tx/s  p99";
  private static final String TITLES =
      "           |               web                |              worker              |"
          + " PostgreSQL sees\n"
          + "  s budget | "
          + OF_A_TENANT
          + " | "
          + OF_A_TENANT
          + " | web worker others";

  /** What the columns mean, in the words of the README. */
  static final String LEGEND =
      """
         budget   what all processes together may hold now; "away" while the coordinator does not
                  answer: then the other figures are what the processes say of themselves
         demand   connections that the tenant could use
         grant    slots that its processes may hold
         held     connections that they have, those being opened or closed included
         wait     threads that wait for a connection
         tx/s     transactions a second
         p99      in ms: of the connections handed out since the line before, 99 % were waited for
                  no longer; "-" if there were none
         others   connections of all other roles: the coordinator, the witness of this demo, visitors""";

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

  /** Prints a line that tells what happens at this moment. */
  void mark(String event) {
    System.out.printf(Locale.ROOT, "%3d ------ %s%n", second(System.nanoTime()), event);
  }

  /** Prints a line if a second has passed since the last one. */
  void rowIfDue() {
    if (System.nanoTime() - lastRow >= 1_000_000_000L) {
      row();
    }
  }

  private long second(long nanos) {
    return (nanos - start) / 1_000_000_000L;
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
        "%3d %6s | %s | %s | %3d %6d %6d%n",
        second(now),
        look == null ? "away" : Integer.toString(look.status().budget().total()),
        tenant("web", look, seconds),
        tenant("worker", look, seconds),
        web,
        worker,
        others);
  }

  /** The coordinator's figures; while it is away the sum of what the processes say. */
  private String tenant(String tenant, @Nullable Look look, double seconds) {
    long committed = stage.sum(tenant, Usage::committed);
    long before = committedBefore.getOrDefault(tenant, 0L);
    committedBefore.put(tenant, committed);
    return String.format(
        Locale.ROOT,
        "%6d %5d %4d %4d %4.0f %4s",
        figure(tenant, look, TenantStatus::demand, Usage::demand),
        figure(tenant, look, TenantStatus::granted, Usage::limit),
        figure(tenant, look, TenantStatus::held, Usage::held),
        figure(tenant, look, TenantStatus::waiting, Usage::waiting),
        Math.max(0, committed - before) / seconds,
        millis(stage.waits(tenant).drainPercentile99()));
  }

  /** In four characters. */
  static String millis(long micros) {
    if (micros < 0) {
      return "-";
    }
    double millis = micros / 1e3;
    if (millis < 9.95) {
      return String.format(Locale.ROOT, "%.1f", millis);
    }
    return millis < 9_999.5
        ? String.format(Locale.ROOT, "%.0f", millis)
        : String.format(Locale.ROOT, "%.0fs", millis / 1e3);
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
