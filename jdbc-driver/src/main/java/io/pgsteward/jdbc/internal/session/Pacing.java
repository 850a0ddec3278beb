package io.pgsteward.jdbc.internal.session;

import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;

/**
 * When a call in flight is given up for a newer report, and when the next one has to wait. Pure:
 * the monotonic time comes in. Not thread-safe.
 *
 * <ul>
 *   <li>Urgent news (demand rose, a slot was released) end a parked call at once. A call that was
 *       only just sent is left alone for a moment, since its answer may be on the way; the moment
 *       doubles with every call given up in a row, so that demand that never stops rising cannot
 *       keep every answer away.
 *   <li>Other news (demand fell, process ids became known) end a call at most every {@value
 *       #PUSH_MILLIS} ms.
 *   <li>A call that asks for an answer is not given up for news: it is answered at once, or shows
 *       that the coordinator is silent.
 *   <li>Answers that come at once and bring nothing new are a fault of the other side; after a few
 *       of them there is a growing, bounded and jittered pause.
 * </ul>
 */
final class Pacing {

  static final long NEVER = Long.MAX_VALUE;
  static final long PUSH_MILLIS = 250;

  static final long PUSH_NANOS = TimeUnit.MILLISECONDS.toNanos(PUSH_MILLIS);
  private static final long LEAST_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final int MOST_DOUBLINGS = 9;
  private static final long QUICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final int QUICK_FREE = 3;
  private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final DoubleSupplier random;
  private boolean urgent;
  private boolean push;
  private boolean inFlight;
  private boolean renews;
  private long sentNanos;
  private int givenUp;
  private int quick;

  /**
   * @param random numbers from 0 (included) to 1
   */
  Pacing(DoubleSupplier random) {
    this.random = random;
  }

  /** Something has happened that the coordinator must hear at once. */
  void urgent() {
    urgent = true;
  }

  /** Something has happened that the coordinator should hear soon. */
  void push() {
    push = true;
  }

  /** The figures of the next report are read from now on: they will hold all news so far. */
  void reading() {
    urgent = false;
    push = false;
  }

  /**
   * The report has been sent.
   *
   * @param renews whether it must be answered, whatever news comes meanwhile; it will be at once
   */
  void sent(long now, boolean renews) {
    inFlight = true;
    this.renews = renews;
    sentNanos = now;
  }

  /** The call in flight was given up for a newer report. */
  void givenUp() {
    inFlight = false;
    givenUp++;
  }

  /** The call in flight has failed. */
  void failed() {
    inFlight = false;
    givenUp = 0;
    quick = 0;
  }

  /**
   * The call in flight was answered.
   *
   * @param news whether the answer changed anything
   * @param parkNanos the longest parking
   */
  void answered(boolean news, long now, long parkNanos) {
    inFlight = false;
    givenUp = 0;
    boolean atOnce = now - sentNanos < Math.min(QUICK_NANOS, parkNanos / 4);
    quick = atOnce && !news ? quick + 1 : 0;
  }

  /** How long until the call in flight has to be given up; 0 for now, {@link #NEVER} for not. */
  long giveUpIn(long now) {
    if (!inFlight || renews || !(urgent || push)) {
      return NEVER;
    }
    long age = urgent ? LEAST_AGE_NANOS << Math.min(givenUp, MOST_DOUBLINGS) : PUSH_NANOS;
    return Math.max(0, age - (now - sentNanos));
  }

  /** How long to wait before the next report; 0 in the ordinary case. */
  long pauseNanos() {
    if (quick <= QUICK_FREE) {
      return 0;
    }
    int doublings = Math.min(quick - QUICK_FREE - 1, 10);
    long pause = Math.min(FIRST_PAUSE_NANOS << doublings, LONGEST_PAUSE_NANOS);
    return pause / 2 + (long) (pause / 2 * random.getAsDouble());
  }
}
