package io.pgsteward.server.http;

import java.time.Duration;

/**
 * What members' calls may take of the coordinator. Immutable.
 *
 * @param calls how many may be open at once, parked ones included
 * @param bodyBytes the largest body; the default has room for some ten thousand active tenants
 * @param bodyTime how long the whole body may take to arrive; above 0
 */
record CallLimits(int calls, int bodyBytes, Duration bodyTime) {

  static final CallLimits DEFAULT = new CallLimits(10_000, 4 << 20, Duration.ofSeconds(5));

  CallLimits withCalls(int most) {
    return new CallLimits(most, bodyBytes, bodyTime);
  }
}
