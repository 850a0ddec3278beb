package io.pgsteward.examples.demo;

import java.lang.management.ManagementFactory;
import java.util.Locale;

/** How busy this machine was when the demo began. Immutable. */
final class Machine {

  private final int cores = Runtime.getRuntime().availableProcessors();
  private final double loadAtStart = load();

  private static double load() {
    return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
  }

  int cores() {
    return cores;
  }

  /** Cores and load, for the introduction. */
  String atStart() {
    return "This machine has "
        + cores
        + (cores == 1 ? " core" : " cores")
        + " and a load average of "
        + shown(loadAtStart)
        + " over the last minute"
        + (loadAtStart > cores
            ? ". That is more than its cores: promises about time may break for that reason alone."
            : ".");
  }

  /** Why a promise may have been broken that would be kept elsewhere; empty if nothing says so. */
  String excuse() {
    double now = load();
    return Math.max(loadAtStart, now) > cores
        ? "The load average was "
            + shown(loadAtStart)
            + " at the start and is "
            + shown(now)
            + " now, on "
            + cores
            + (cores == 1 ? " core" : " cores")
            + ". Promises about time need a quiet machine: run the demo again when there is one."
            + " The promises about budget, errors and books do not depend on it."
        : "";
  }

  private static String shown(double load) {
    return load < 0 ? "(unknown)" : String.format(Locale.ROOT, "%.1f", load);
  }
}
