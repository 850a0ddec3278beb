package io.pgsteward.server.http;

import java.time.Duration;

/**
 * What members' calls may take of the coordinator. Immutable.
 *
 * @param calls how many may be open at once, parked ones included
 * @param bodyBytes the largest body; the default has room for some ten thousand active tenants
 * @param bodyTime how long the whole body may take to arrive; above 0
 * @param largeBytes what all bodies that are arriving may hold together, not counting the first
 *     {@link #SMALL} bytes of each: members with ordinary bodies are not kept out by large ones
 */
record CallLimits(int calls, int bodyBytes, Duration bodyTime, long largeBytes) {

  /** Room for some forty tenants with their pids. */
  static final int SMALL = 16 << 10;

  static final CallLimits DEFAULT =
      new CallLimits(10_000, 4 << 20, Duration.ofSeconds(5), 64L << 20);

  CallLimits withCalls(int most) {
    return new CallLimits(most, bodyBytes, bodyTime, largeBytes);
  }
}
