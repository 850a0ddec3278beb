package io.pgsteward.jdbc.internal.pool;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** What the gate wants done. Called outside of its lock, but for {@link #limitFromEmpty}. */
interface SlotWork {

  /** Begin to open the slot's connection; the slot is {@link SlotState#OPENING}. */
  void open(Slot slot);

  /** Close the slot's connection; the slot is {@link SlotState#CLOSING}. */
  void retire(Slot slot);

  /** Demand is above what was last reported. */
  void demandRose();

  /** Call {@link SlotGate#settle} after that time. */
  void settleAfter(long nanos);

  /** The gate is in use again: call {@link SlotGate#tick} regularly until it says false. */
  void awake();

  /**
   * A connection is wanted and none is held. The one question that is asked under the lock, so that
   * no opening slips through between the question and its answer; it takes no lock itself.
   *
   * @param limit what the gate goes by
   * @return what it goes by from now on; at most {@code limit}
   */
  default int limitFromEmpty(int limit) {
    return limit;
  }

  /**
   * What was decided under the gate's lock and is done once it is released. Used by one thread, for
   * one holding of the lock.
   */
  final class Todo {

    private @Nullable Thread first;
    private List<Thread> others = List.of();
    private List<Slot> retire = List.of();
    private List<Slot> open = List.of();
    private boolean rose;
    private boolean awake;
    private long settleAfter;

    void wake(Thread waiting) {
      if (first == null) {
        first = waiting;
      } else {
        others = with(others, waiting);
      }
    }

    void retire(Slot slot) {
      retire = with(retire, slot);
    }

    void open(Slot slot) {
      open = with(open, slot);
    }

    /** Most turns of the lock bring one thing or nothing to do: no list is made for that. */
    private static <T> List<T> with(List<T> list, T more) {
      List<T> longer = list.isEmpty() ? new ArrayList<>() : list;
      longer.add(more);
      return longer;
    }

    void demandRose() {
      rose = true;
    }

    void awake() {
      awake = true;
    }

    void settleAfter(long nanos) {
      settleAfter = nanos;
    }

    /** Threads first: they have waited. */
    void run(SlotWork work) {
      if (first != null) {
        LockSupport.unpark(first);
      }
      others.forEach(LockSupport::unpark);
      retire.forEach(work::retire);
      open.forEach(work::open);
      if (rose) {
        work.demandRose();
      }
      if (settleAfter > 0) {
        work.settleAfter(settleAfter);
      }
      if (awake) {
        work.awake();
      }
    }
  }
}
