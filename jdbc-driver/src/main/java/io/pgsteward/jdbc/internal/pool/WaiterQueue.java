package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.model.Ticker;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The threads that wait for a slot, first in, first out; leaving from the middle is as cheap as
 * from the head. Guarded by the gate's lock, except for the outcome of a waiter.
 */
final class WaiterQueue {

  /** How a thread's wait ended. */
  enum End {
    /** It was served, or told why not. */
    DONE,
    INTERRUPTED,
    /** The deadline has passed. */
    LATE
  }

  /** One thread's wait. A waiter that was served in vain may be queued again, at the head. */
  static final class Waiter {

    final Thread thread = Thread.currentThread();

    /** When it came, on the pool's ticker. */
    final long since;

    private volatile @Nullable Slot slot;
    private volatile @Nullable BorrowFailure failure;
    private volatile boolean exhausted;
    private boolean queued;
    private @Nullable Waiter before;
    private @Nullable Waiter after;

    Waiter(long since) {
      this.since = since;
    }

    /** The slot that it got; in state {@link SlotState#IN_USE} when it was given. */
    @Nullable Slot slot() {
      return slot;
    }

    @Nullable BorrowFailure failure() {
      return failure;
    }

    /** Whether it must wait for a return or a raise, since no opening is on the way for it. */
    boolean foundPoolExhausted() {
      return exhausted;
    }

    void findPoolExhausted() {
      exhausted = true;
    }

    /** Parks the calling thread, which must be the waiter's own; clears its interrupt. */
    End park(Ticker ticker, long deadline) {
      while (!isDone()) {
        if (Thread.interrupted()) {
          return End.INTERRUPTED;
        }
        long left = deadline - ticker.nanos();
        if (left <= 0) {
          return End.LATE;
        }
        LockSupport.parkNanos(this, left);
      }
      return End.DONE;
    }

    boolean isDone() {
      return slot != null || failure != null;
    }

    boolean isQueued() {
      return queued;
    }

    void serve(Slot given) {
      slot = given;
    }

    void fail(BorrowFailure why) {
      failure = why;
    }
  }

  private @Nullable Waiter first;
  private @Nullable Waiter last;
  private int size;

  int size() {
    return size;
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** How long the first has waited; 0 when nobody waits. */
  long longestWait(long now) {
    return first == null ? 0 : Math.max(0, now - first.since);
  }

  /**
   * Queues a waiter.
   *
   * @param again whether it had its turn before and goes to the head
   */
  void add(Waiter waiter, boolean again) {
    if (again) {
      addFirst(waiter);
    } else {
      addLast(waiter);
    }
  }

  private void addLast(Waiter waiter) {
    begin(waiter);
    if (last == null) {
      first = waiter;
    } else {
      waiter.before = last;
      last.after = waiter;
    }
    last = waiter;
  }

  private void addFirst(Waiter waiter) {
    begin(waiter);
    if (first == null) {
      last = waiter;
    } else {
      waiter.after = first;
      first.before = waiter;
    }
    first = waiter;
  }

  private void begin(Waiter waiter) {
    waiter.slot = null;
    waiter.queued = true;
    size++;
  }

  /** Takes the first one out, or null. */
  @Nullable Waiter poll() {
    Waiter waiter = first;
    if (waiter != null) {
      remove(waiter);
    }
    return waiter;
  }

  /** Takes out one that is queued. */
  void remove(Waiter waiter) {
    if (waiter.before == null) {
      first = waiter.after;
    } else {
      waiter.before.after = waiter.after;
    }
    if (waiter.after == null) {
      last = waiter.before;
    } else {
      waiter.after.before = waiter.before;
    }
    waiter.before = null;
    waiter.after = null;
    waiter.queued = false;
    size--;
  }

  void checkInvariants() {
    int counted = 0;
    Waiter before = null;
    for (Waiter at = first; at != null; at = at.after) {
      if (!at.queued || at.before != before || at.isDone()) {
        throw new IllegalStateException("the queue of waiting threads is torn at " + at.thread);
      }
      before = at;
      counted++;
    }
    if (counted != size || before != last) {
      throw new IllegalStateException(counted + " threads wait, but " + size + " are counted");
    }
  }
}
