package io.pgsteward.testing;

import java.time.Instant;

/**
 * The largest number of backends seen at one moment.
 *
 * @param count how many
 * @param atMillis wall-clock time when they were first that many; 0 if there never was any
 */
public record Peak(int count, long atMillis) {

  static final Peak NONE = new Peak(0, 0);

  @Override
  public String toString() {
    return count == 0 ? "0" : count + " at " + Instant.ofEpochMilli(atMillis);
  }
}
