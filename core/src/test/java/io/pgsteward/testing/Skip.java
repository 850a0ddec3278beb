package io.pgsteward.testing;

import org.opentest4j.TestAbortedException;

/**
 * Skips a test visibly. Apart from the rest, since the instruments also serve programs that run
 * without JUnit.
 */
final class Skip {

  private Skip() {}

  /** To be thrown. */
  static RuntimeException because(String reason) {
    return new TestAbortedException("skipped: " + reason);
  }
}
