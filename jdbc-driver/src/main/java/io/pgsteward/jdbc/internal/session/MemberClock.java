package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.Ticker;
import java.util.function.LongSupplier;

/**
 * The time of one member. Immutable and thread-safe.
 *
 * @param ticker the monotonic clock
 * @param wallMillis the local wall clock, for noticing that the machine was asleep
 */
record MemberClock(Ticker ticker, LongSupplier wallMillis) {

  static MemberClock system() {
    return new MemberClock(Ticker.system(), System::currentTimeMillis);
  }

  Moment now() {
    return new Moment(ticker.nanos(), wallMillis.getAsLong());
  }
}
