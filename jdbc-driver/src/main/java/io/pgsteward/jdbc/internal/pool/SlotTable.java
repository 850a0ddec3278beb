package io.pgsteward.jdbc.internal.pool;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The slots of a pool, and how many of them are in which state. Decides nothing but which slot of
 * several is taken.
 *
 * <p>Thread-safety: {@link #take}, {@link #putBack} and the readers that say so need no lock;
 * everything else is called under the gate's lock, under which {@code opening}, {@code open} and
 * {@code closing} are exact.
 *
 * <p>How many slots are in use is not kept but counted when somebody asks. A figure that every
 * borrow and every return wrote would be the one memory cell that all threads of the application
 * fight for. The demand meter, which wants its maximum, is told at the first use of each slot after
 * a tick, at every {@value #NOTE_EVERY}th borrow of a slot, and by the gate when a thread finds no
 * idle one; a peak that lies between these for less than a tick may be missed.
 */
final class SlotTable {

  private static final int AFFINITIES = 64;

  /** A power of two. */
  private static final int NOTE_EVERY = 64;

  /** An opening that lasts longer does not count any more as help for a waiting thread. */
  private static final long SLOW_OPENING_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A close that lasts longer keeps its slot from those who wait. */
  private static final long SLOW_CLOSING_NANOS = TimeUnit.MILLISECONDS.toNanos(1_500);

  /** HikariCP opens nothing in a slot for 30 ms after an opening; another slot is taken then. */
  private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(40);

  private final DemandMeter meter;
  private final Runnable onRise;

  /** Ascending by index; replaced as a whole. */
  private volatile Slot[] slots = new Slot[0];

  /** Hints without any promise: the slot that a thread of that number had last. */
  private final @Nullable Slot[] affinity = new Slot[AFFINITIES];

  /** The age of a return, for "the warmest", without reading a clock. */
  private volatile int ticks;

  private int opening;
  private int open;
  private int closing;
  private int nextIndex;

  /**
   * @param meter is told how many are in use
   * @param onRise run without a lock when {@link #take} finds that number at a new peak
   */
  SlotTable(DemandMeter meter, Runnable onRise) {
    this.meter = meter;
    this.onRise = onRise;
  }

  // ------------------------------------------------------------------ without the lock

  /** An idle slot, now {@link SlotState#IN_USE} and the caller's: its last one, or the warmest. */
  @Nullable Slot take() {
    int place = (int) Thread.currentThread().getId() & (AFFINITIES - 1);
    Slot slot = affinity[place];
    if (slot == null
        || slot.state() != SlotState.IDLE
        || !slot.transition(SlotState.IDLE, SlotState.IN_USE)) {
      slot = takeWarmest();
      if (slot == null) {
        return null;
      }
      affinity[place] = slot;
    }
    if (slot.notedAt != ticks || (slot.borrows & (NOTE_EVERY - 1)) == 0) {
      slot.notedAt = ticks;
      if (meter.raise(inUse())) {
        onRise.run();
      }
    }
    return slot;
  }

  /** The warmest idle slot, now {@link SlotState#IN_USE}, for any thread. */
  @Nullable Slot takeWarmest() {
    while (true) {
      Slot warmest = null;
      for (Slot slot : slots) {
        if (slot.state() == SlotState.IDLE
            && (warmest == null || slot.usedAt - warmest.usedAt > 0)) {
          warmest = slot;
        }
      }
      if (warmest == null || warmest.transition(SlotState.IDLE, SlotState.IN_USE)) {
        return warmest;
      }
    }
  }

  /**
   * Makes a slot idle that comes back.
   *
   * @return false if its connection has ended meanwhile, which was counted then
   */
  boolean putBack(Slot slot) {
    slot.usedAt = ticks;
    return slot.transition(SlotState.IN_USE, SlotState.IDLE);
  }

  /** The slots in any state. */
  List<Slot> slots() {
    return List.of(slots);
  }

  /** Slots in use now, counted one by one while others change. */
  int inUse() {
    int inUse = 0;
    for (Slot slot : slots) {
      if (slot.state() == SlotState.IN_USE) {
        inUse++;
      }
    }
    return inUse;
  }

  /** Whether the calling thread has one of the connections. */
  boolean callerHoldsOne() {
    long thread = Thread.currentThread().getId();
    for (Slot slot : slots) {
      if (slot.state() == SlotState.IN_USE && slot.holderThread == thread) {
        return true;
      }
    }
    return false;
  }

  // ------------------------------------------------------------------ under the lock

  int opening() {
    return opening;
  }

  int open() {
    return open;
  }

  int closing() {
    return closing;
  }

  /** Connections that may exist at PostgreSQL. */
  int held() {
    return opening + open + closing;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock alone
  void tick() {
    ticks++;
  }

  /**
   * What could be used now. An opening is for a waiting thread and not counted beside it. While
   * somebody waits, a close that nobody confirms counts too: its slot may be held for long, and
   * another one is needed in its place.
   */
  int level(int waiting, long now) {
    int level = inUse() + Math.max(waiting, opening);
    if (waiting > 0 && closing > 0) {
      for (Slot slot : slots) {
        if (slot.state() == SlotState.CLOSING && now - slot.since >= SLOW_CLOSING_NANOS) {
          level++;
        }
      }
    }
    return level;
  }

  /** Idle slots, the one first that is least worth keeping. */
  List<Slot> coldestFirst() {
    List<Slot> idle = new ArrayList<>();
    for (Slot slot : slots) {
      if (slot.state() == SlotState.IDLE) {
        idle.add(slot);
      }
    }
    idle.sort(
        (a, b) ->
            a.usedAt != b.usedAt
                ? Integer.compare(a.usedAt, b.usedAt)
                : Integer.compare(b.index, a.index));
    return idle;
  }

  /** Openings that may still be of help to a waiting thread. */
  int usefulOpenings(long now) {
    int useful = 0;
    for (Slot slot : slots) {
      if (slot.state() == SlotState.OPENING && now - slot.since < SLOW_OPENING_NANOS) {
        useful++;
      }
    }
    return useful;
  }

  /**
   * Brings an empty slot, or a new one, to {@link SlotState#OPENING}.
   *
   * @param limit connections that the pool may hold
   */
  Slot beginOpening(long now, int limit) {
    Slot slot = emptySlot(now, limit);
    slot.transition(SlotState.EMPTY, SlotState.OPENING);
    slot.since = now;
    opening++;
    return slot;
  }

  private Slot emptySlot(long now, int limit) {
    Slot resting = null;
    for (Slot slot : slots) {
      if (slot.state() == SlotState.EMPTY) {
        if (now - slot.openedAt >= REST_NANOS) {
          return slot;
        }
        resting = slot;
      }
    }
    if (resting != null && slots.length >= 2 * limit) {
      return resting;
    }
    Slot slot = new Slot(nextIndex++);
    slot.openedAt = now - REST_NANOS;
    Slot[] more = Arrays.copyOf(slots, slots.length + 1);
    more[slots.length] = slot;
    slots = more;
    return slot;
  }

  /** The opening has succeeded; the slot becomes idle, in use, or closing. */
  void endOpening(Slot slot, SlotState next, long now) {
    slot.transition(SlotState.OPENING, next);
    slot.openedAt = now;
    slot.usedAt = ticks;
    opening--;
    count(next, 1);
  }

  /**
   * The opening has failed.
   *
   * @param next empty, or closing if its backend may live
   * @return false if the slot is not opening any more
   */
  boolean failOpening(Slot slot, SlotState next, long now) {
    if (slot.state() != SlotState.OPENING || !slot.transition(SlotState.OPENING, next)) {
      return false;
    }
    opening--;
    count(next, 1);
    slot.since = now;
    return true;
  }

  /**
   * Brings a slot from that open state to {@link SlotState#CLOSING}.
   *
   * @return false if it is in another state by now
   */
  boolean beginClosing(Slot slot, SlotState from, long now) {
    if (!slot.transition(from, SlotState.CLOSING)) {
      return false;
    }
    count(from, -1);
    closing++;
    slot.since = now;
    return true;
  }

  /**
   * The slot's connection ends by itself: closing, whatever it was before.
   *
   * @return the state that it was in
   */
  SlotState end(Slot slot, long now) {
    while (true) {
      SlotState state = slot.state();
      boolean alive = state.isOpen() || state == SlotState.OPENING;
      if (!alive || beginClosing(slot, state, now)) {
        return state;
      }
    }
  }

  private void count(SlotState state, int change) {
    if (state == SlotState.OPENING) {
      opening += change;
    } else if (state == SlotState.CLOSING) {
      closing += change;
    } else if (state.isOpen()) {
      open += change;
    }
  }

  /**
   * The closing slot's backend is gone.
   *
   * @return false if the slot was not closing
   */
  boolean empty(Slot slot, long now) {
    if (slot.state() != SlotState.CLOSING || !slot.transition(SlotState.CLOSING, SlotState.EMPTY)) {
      return false;
    }
    closing--;
    slot.physical = null;
    slot.since = now;
    return true;
  }

  /**
   * HikariCP has the borrower's connection under test.
   *
   * @return false if the slot is not the borrower's any more
   */
  boolean beginCheck(Slot slot) {
    return slot.transition(SlotState.IN_USE, SlotState.CHECKING);
  }

  /** Gives up empty slots that were not used for that long. */
  List<Slot> drop(long now, long nanos) {
    List<Slot> dropped = new ArrayList<>();
    List<Slot> kept = new ArrayList<>();
    for (Slot slot : slots) {
      boolean drop =
          slot.state() == SlotState.EMPTY
              && now - slot.since >= nanos
              && slot.transition(SlotState.EMPTY, SlotState.DROPPED);
      (drop ? dropped : kept).add(slot);
    }
    if (!dropped.isEmpty()) {
      slots = kept.toArray(new Slot[0]);
      Arrays.fill(affinity, null);
    }
    return dropped;
  }

  /** What the slots add to the figures of a pool. */
  PoolUsage usage(
      int limit, int demand, int waiting, long longestWait, PoolUsage.Counters counters) {
    int used = inUse();
    return new PoolUsage(
        limit,
        demand,
        waiting,
        longestWait,
        used,
        open - used,
        opening,
        open,
        closing,
        pids(),
        counters);
  }

  /** Backends of open and closing connections, as far as known, ascending. */
  private List<Integer> pids() {
    Set<Integer> pids = new TreeSet<>(); // PostgreSQL may use one again while we still count it
    for (Slot slot : slots) {
      PhysicalConnection physical = slot.physical;
      SlotState state = slot.state();
      if (physical != null && physical.pid != 0 && (state.isOpen() || state == SlotState.CLOSING)) {
        pids.add(physical.pid);
      }
    }
    return List.copyOf(pids);
  }

  void checkInvariants() {
    int[] counted = new int[3];
    for (Slot slot : slots) {
      SlotState state = slot.state();
      if (state == SlotState.OPENING) {
        counted[0]++;
      } else if (state.isOpen()) {
        counted[1]++;
      } else if (state == SlotState.CLOSING) {
        counted[2]++;
      }
    }
    int[] figures = {opening, open, closing};
    if (!Arrays.equals(counted, figures)) {
      throw new IllegalStateException(
          "the figures of slots opening, open and closing are "
              + Arrays.toString(figures)
              + ", but the slots are "
              + Arrays.toString(slots));
    }
  }
}
