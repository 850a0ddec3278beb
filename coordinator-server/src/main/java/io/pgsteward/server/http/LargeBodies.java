package io.pgsteward.server.http;

import java.util.concurrent.atomic.AtomicLong;

/** What bodies that are arriving hold beyond their first bytes, all together. Thread-safe. */
final class LargeBodies {

  private final long most;
  private final AtomicLong held = new AtomicLong();

  LargeBodies(long most) {
    this.most = most;
  }

  /** One body's part. Public methods lock; what was taken is given back once. */
  final class Part {

    private long taken;
    private boolean ended;

    /**
     * Takes room for a body that has grown.
     *
     * @param size of the body so far
     * @return false if there is none, or the part has ended
     */
    synchronized boolean grow(long size) {
      long more = Math.max(0, size - CallLimits.SMALL) - taken;
      if (ended) {
        return false;
      }
      if (held.addAndGet(more) > most) {
        held.addAndGet(-more);
        return false;
      }
      taken += more;
      return true;
    }

    synchronized void end() {
      ended = true;
      held.addAndGet(-taken);
      taken = 0;
    }
  }
}
