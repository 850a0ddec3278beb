package io.pgsteward.testing;

import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Waits for what other threads or processes do, with a generous limit. */
public final class Await {

  private static final Duration LIMIT = Duration.ofSeconds(20);

  private Await() {}

  /** Asks every 5 ms until it is so; fails after 20 s. */
  public static void until(String what, BooleanSupplier isSo) throws InterruptedException {
    until(what, LIMIT, isSo);
  }

  /** Asks every 5 ms until it is so; fails when the limit has passed. */
  public static void until(String what, Duration limit, BooleanSupplier isSo)
      throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (!isSo.getAsBoolean()) {
      if (System.nanoTime() - end >= 0) {
        throw new AssertionError("not within " + limit.toMillis() + " ms: " + what);
      }
      Thread.sleep(5);
    }
  }
}
