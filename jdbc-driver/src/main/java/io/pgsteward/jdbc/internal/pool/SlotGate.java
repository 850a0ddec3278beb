package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.jdbc.internal.pool.WaiterQueue.Waiter;
import io.pgsteward.model.Ticker;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Decides who gets which slot, and which slots are opened and closed. Knows neither JDBC nor
 * HikariCP: it moves {@link Slot} objects between states, and has somebody else do the {@link
 * Work}.
 *
 * <h2>Who may do what</h2>
 *
 * A slot's state is its owner's mark. Whoever brings a slot from IDLE to IN_USE by compare-and-set
 * owns it until it brings it out of IN_USE again; nobody else does that, with one exception: the
 * connection itself may end at any time ({@link #closing}), which takes the slot away from its
 * borrower. Every other transition happens under the lock. The figures {@code opening}, {@code
 * open} and {@code closing} change with those transitions, so they are exact under the lock; {@code
 * inUse} follows the two lock-free ones and may be off by those that are under way.
 *
 * <h2>The short path</h2>
 *
 * With nobody waiting and nothing to close, {@link #tryTake} and {@link #giveBack} touch no lock:
 * one compare-and-set on the slot and one addition to {@code inUse} each. The flag {@code
 * attention} says that this is not enough. It is raised, under the lock, before a thread looks for
 * idle slots a last time and parks; a returning thread looks at it after it has made its slot idle.
 * Both orders are sequentially consistent, so one of the two sees the other: either the waiting
 * thread finds the idle slot, or the returning thread finds the flag and hands its slot over. The
 * same holds for a lowered limit. The flag also keeps newcomers behind those who wait.
 *
 * <h2>Hand-over</h2>
 *
 * While somebody waits, a returned slot never becomes idle: it stays IN_USE and is given to the
 * first in the queue under the lock, so that nobody can overtake. A thread whose slot turns out to
 * be useless (its connection was found dead) queues again at the head with its first deadline.
 *
 * <h2>Opening</h2>
 *
 * Openings are started for the queue, not for a thread: as many run as threads wait and the limit
 * leaves room for, and whatever comes first, a returned connection or an opened one, goes to the
 * first in the queue. So one connect that hangs holds up nobody but costs its place; one that lasts
 * longer than a second is not counted as help any more, and another one is started. What fails is
 * tried again after a pause that all slots share.
 *
 * <h2>The limit</h2>
 *
 * opening + open + closing stays within the limit, because nothing is opened unless all three
 * together leave room. After a lowering, opening + open is brought down to the limit: idle
 * connections are closed at once, coldest first, the others as they come back or as they are
 * opened. Closing ones count until their backend is gone, so the sum never rises meanwhile.
 *
 * <h2>Locks</h2>
 *
 * One lock, held for arithmetic alone: threads are woken and work is done after it is released
 * ({@link Todo}). Public-looking methods take it, private ones are called with it.
 */
final class SlotGate {

  /** What the gate wants done. Called outside of its lock. */
  interface Work {

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
     * A connection is wanted and none is held. The one question that is asked under the lock, so
     * that no opening slips through between the question and its answer; it takes no lock itself.
     *
     * @param limit what the gate goes by
     * @return what it goes by from now on; at most {@code limit}
     */
    default int limitFromEmpty(int limit) {
      return limit;
    }
  }

  /** What is to be done once the lock is released. */
  private static final class Todo {
    private final List<Slot> open = new ArrayList<>(0);
    private final List<Slot> retire = new ArrayList<>(0);
    private final List<Thread> wake = new ArrayList<>(1);
    private boolean rose;
    private boolean awake;
    private long settleAfter;
  }

  private static final int AFFINITIES = 64;

  /** An opening that lasts longer does not count any more as help for a waiting thread. */
  private static final long SLOW_OPENING_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** HikariCP opens nothing in a slot for 30 ms after an opening; another slot is taken then. */
  private static final long REST_NANOS = TimeUnit.MILLISECONDS.toNanos(40);

  private final ReentrantLock lock = new ReentrantLock();
  private final Ticker ticker;
  private final Work work;
  private final int cap;
  private final int maxWaiters;

  /** Written under the lock, read by all: ascending by index. */
  private volatile Slot[] slots = new Slot[0];

  /** Hints without any promise: the slot that a thread of that number had last. */
  private final @Nullable Slot[] affinity = new Slot[AFFINITIES];

  private final AtomicInteger inUse = new AtomicInteger();
  private final DemandMeter meter;

  /** Whether a borrower or a return must take the lock: somebody waits, or slots must close. */
  private volatile boolean attention;

  /** Counts {@link #tick}: the age of a return, for "the warmest", without reading a clock. */
  private volatile int ticks;

  // All that follows is guarded by the lock.
  private final WaiterQueue waiters = new WaiterQueue();
  private final OpenBackoff backoff =
      new OpenBackoff(bound -> ThreadLocalRandom.current().nextLong(bound));
  private int limit;
  private int opening;
  private int open;
  private int closing;
  private boolean closed;
  private @Nullable String refused;
  private int told;
  private boolean rosePending;
  private boolean awake;
  private boolean settlePending;
  private int nextIndex;

  SlotGate(Ticker ticker, Work work, int limit, int cap, int maxWaiters) {
    this.ticker = ticker;
    this.work = work;
    this.cap = cap;
    this.limit = Math.min(limit, cap);
    this.maxWaiters = maxWaiters;
    this.meter = new DemandMeter(ticker.nanos());
  }

  // ------------------------------------------------------------------ taking and giving back

  /** A free slot, now {@link SlotState#IN_USE} and the caller's, or null. Never waits. */
  @Nullable Slot tryTake() {
    if (attention) {
      return null;
    }
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
    meter.raise(inUse.incrementAndGet());
    return slot;
  }

  private @Nullable Slot takeWarmest() {
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

  /** The slot's connection has come back. */
  void giveBack(Slot slot) {
    slot.usedAt = ticks;
    if (attention) {
      place(slot, SlotState.IN_USE);
    } else if (slot.transition(SlotState.IN_USE, SlotState.IDLE)) {
      inUse.decrementAndGet();
      if (attention) {
        settle();
      }
    } // else its connection has ended meanwhile, and that was counted then
  }

  private void place(Slot slot, SlotState expected) {
    Todo todo = new Todo();
    lock.lock();
    try {
      if (slot.state() == expected) {
        placeOpen(slot, expected, todo);
      }
      publishAttention();
    } finally {
      lock.unlock();
    }
    run(todo);
  }

  /** Gives an open slot to whom it belongs now. */
  private void placeOpen(Slot slot, SlotState from, Todo todo) {
    if (opening + open > allowed()) {
      beginClose(slot, from, todo);
      return;
    }
    if (from == SlotState.IN_USE) {
      Waiter next = waiters.poll();
      if (next != null) {
        hand(slot, next, todo);
      } else if (slot.transition(SlotState.IN_USE, SlotState.IDLE)) {
        inUse.decrementAndGet();
      }
    } else if (slot.transition(from, SlotState.IDLE)) {
      serveFromIdle(todo);
    }
  }

  private static void hand(Slot slot, Waiter waiter, Todo todo) {
    waiter.serve(slot);
    todo.wake.add(waiter.thread);
  }

  private void beginClose(Slot slot, SlotState from, Todo todo) {
    if (slot.transition(from, SlotState.CLOSING)) {
      if (from == SlotState.IN_USE) {
        inUse.decrementAndGet();
      }
      open--;
      closing++;
      todo.retire.add(slot);
    }
  }

  // ------------------------------------------------------------------ waiting

  /**
   * Waits for a slot until the deadline. Afterwards the waiter has a slot, or a failure, or
   * neither: then its time is over.
   *
   * @param again whether the waiter had its turn before and goes to the head of the queue
   */
  void await(Waiter waiter, long deadline, boolean again) {
    enlist(waiter, again);
    while (!waiter.isDone()) {
      if (Thread.interrupted()) {
        if (cancel(waiter)) {
          waiter.fail(new BorrowFailure.Interrupted(ticker.nanos() - waiter.since));
        }
        Thread.currentThread().interrupt();
        return;
      }
      long left = deadline - ticker.nanos();
      if (left <= 0) {
        cancel(waiter);
        return;
      }
      LockSupport.parkNanos(this, left);
    }
  }

  private void enlist(Waiter waiter, boolean again) {
    Todo todo = new Todo();
    lock.lock();
    try {
      if (again) {
        waiters.addFirst(waiter);
      } else {
        waiters.addLast(waiter);
      }
      attention = true;
      settle(todo);
      if (waiter.isQueued()) {
        if (waiters.size() > opening) {
          waiter.findPoolExhausted();
        }
        if (!again && maxWaiters > 0 && waiters.size() - opening > maxWaiters) {
          waiters.remove(waiter);
          waiter.fail(
              new BorrowFailure.TooManyWaiters(usageNow(PoolUsage.Counters.NONE), maxWaiters));
          publishAttention();
        } else {
          noteDemand(todo);
        }
      }
    } finally {
      lock.unlock();
    }
    run(todo);
  }

  /**
   * @return false if the waiter was served or failed in the last moment
   */
  private boolean cancel(Waiter waiter) {
    lock.lock();
    try {
      if (!waiter.isQueued()) {
        return false;
      }
      waiters.remove(waiter);
      publishAttention();
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void noteDemand(Todo todo) {
    int level = level();
    meter.raise(level);
    if (level > told && !rosePending) {
      rosePending = true;
      todo.rose = true;
    }
  }

  /** What could be used now. An opening is for a waiting thread and not counted beside it. */
  private int level() {
    return Math.min(cap, inUse.get() + Math.max(waiters.size(), opening));
  }

  // ------------------------------------------------------------------ what becomes of slots

  /** An opening has succeeded. */
  void opened(Slot slot) {
    Todo todo = new Todo();
    lock.lock();
    try {
      if (slot.state() != SlotState.OPENING) {
        return;
      }
      opening--;
      open++;
      backoff.succeeded();
      slot.usedAt = ticks;
      slot.openedAt = ticker.nanos();
      Waiter next = opening + open > allowed() ? null : waiters.poll();
      if (opening + open > allowed()) {
        beginClose(slot, SlotState.OPENING, todo);
      } else if (next == null) {
        slot.transition(SlotState.OPENING, SlotState.IDLE);
      } else {
        slot.transition(SlotState.OPENING, SlotState.IN_USE);
        meter.raise(inUse.incrementAndGet());
        hand(slot, next, todo);
      }
      settle(todo);
    } finally {
      lock.unlock();
    }
    run(todo);
  }

  /**
   * An opening has failed.
   *
   * @param nothingLeft whether nothing of it can still be alive at PostgreSQL; otherwise the slot
   *     is closing
   */
  void openFailed(Slot slot, SQLException failure, boolean nothingLeft) {
    Todo todo = new Todo();
    lock.lock();
    try {
      if (slot.state() == SlotState.OPENING) {
        opening--;
        if (nothingLeft) {
          slot.transition(SlotState.OPENING, SlotState.EMPTY);
        } else {
          slot.transition(SlotState.OPENING, SlotState.CLOSING);
          closing++;
        }
        slot.since = ticker.nanos();
      }
      backoff.failed(failure, OpenBackoff.Kind.of(failure), ticker.nanos());
      settle(todo);
    } finally {
      lock.unlock();
    }
    run(todo);
  }

  /** The slot's connection is ending, by whatever cause. Takes it away from a borrower. */
  void closing(Slot slot) {
    lock.lock();
    try {
      while (true) {
        SlotState state = slot.state();
        if (!state.isOpen() && state != SlotState.OPENING) {
          return;
        }
        if (slot.transition(state, SlotState.CLOSING)) {
          if (state == SlotState.IN_USE) {
            inUse.decrementAndGet();
          }
          if (state == SlotState.OPENING) {
            opening--;
            backoff.failed(
                new SQLException("the new connection could not be set up"),
                OpenBackoff.Kind.TRANSIENT,
                ticker.nanos());
          } else {
            open--;
          }
          closing++;
          return;
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** The closing slot's backend is gone. */
  void gone(Slot slot) {
    Todo todo = new Todo();
    lock.lock();
    try {
      if (slot.transition(SlotState.CLOSING, SlotState.EMPTY)) {
        closing--;
        slot.physical = null;
        slot.since = ticker.nanos();
      }
      settle(todo);
    } finally {
      lock.unlock();
    }
    run(todo);
  }

  /**
   * The borrower did not get this connection from HikariCP, which has it under test.
   *
   * @return whether the slot was still the borrower's
   */
  boolean checking(Slot slot, PhysicalConnection physical) {
    lock.lock();
    try {
      if (slot.physical == physical && slot.transition(SlotState.IN_USE, SlotState.CHECKING)) {
        inUse.decrementAndGet();
        return true;
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** HikariCP's test of the connection has ended well. */
  void checked(Slot slot) {
    place(slot, SlotState.CHECKING);
  }

  // ------------------------------------------------------------------ what the owner decides

  void limit(int slotsGranted) {
    change(() -> limit = Math.min(slotsGranted, cap));
  }

  void refuse(@Nullable String reason) {
    change(() -> refused = reason);
  }

  void close() {
    change(() -> closed = true);
  }

  private void change(Runnable what) {
    Todo todo = new Todo();
    lock.lock();
    try {
      what.run();
      settle(todo);
    } finally {
      lock.unlock();
    }
    run(todo);
  }

  /** Slots that may be opening or open. */
  private int allowed() {
    return closed || refused != null ? 0 : limit;
  }

  boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  /** Whether the opening of this slot is still of use: somebody waits and the limit allows it. */
  boolean isWanted(Slot slot) {
    lock.lock();
    try {
      return slot.state() == SlotState.OPENING && opening + open <= allowed();
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------ deciding

  /** Brings slots, waiting threads and the limit together. */
  void settle() {
    change(() -> settlePending = false);
  }

  private void settle(Todo todo) {
    failIfShut(todo);
    serveFromIdle(todo);
    closeSurplus(todo);
    openForWaiters(todo);
    if (!awake && (!waiters.isEmpty() || held() > 0)) {
      awake = true;
      todo.awake = true;
    }
    publishAttention();
  }

  private void publishAttention() {
    boolean needed = !waiters.isEmpty() || closed || refused != null || opening + open > allowed();
    if (attention != needed) {
      attention = needed;
    }
  }

  private void failIfShut(Todo todo) {
    if (closed) {
      failAll(new BorrowFailure.Closed(), todo);
    } else if (refused != null) {
      failAll(new BorrowFailure.Refused(refused), todo);
    } else if (!waiters.isEmpty() && open == 0) {
      SQLException hopeless = backoff.hopeless(ticker.nanos());
      if (hopeless != null) {
        failAll(new BorrowFailure.OpenFailed(hopeless), todo);
      }
    }
  }

  private void failAll(BorrowFailure failure, Todo todo) {
    for (Waiter waiter = waiters.poll(); waiter != null; waiter = waiters.poll()) {
      waiter.fail(failure);
      todo.wake.add(waiter.thread);
    }
  }

  private void serveFromIdle(Todo todo) {
    while (!waiters.isEmpty() && opening + open <= allowed() && inUse.get() < open) {
      Slot slot = takeWarmest();
      if (slot == null) {
        return;
      }
      meter.raise(inUse.incrementAndGet());
      Waiter next = waiters.poll();
      if (next == null) {
        throw new IllegalStateException("nobody waits");
      }
      hand(slot, next, todo);
    }
  }

  /** Closes idle slots beyond the limit; those in use follow as they come back. */
  private void closeSurplus(Todo todo) {
    if (opening + open <= allowed()) {
      return;
    }
    attention = true; // returns take the lock from here on; earlier ones are seen as idle below
    Slot[] coldestFirst = slots.clone();
    Arrays.sort(coldestFirst, SlotGate::byWarmth);
    for (Slot slot : coldestFirst) {
      if (opening + open <= allowed()) {
        return;
      }
      if (slot.state() == SlotState.IDLE) {
        beginClose(slot, SlotState.IDLE, todo);
      }
    }
  }

  private static int byWarmth(Slot a, Slot b) {
    return a.usedAt != b.usedAt
        ? Integer.compare(a.usedAt, b.usedAt)
        : Integer.compare(b.index, a.index);
  }

  private void openForWaiters(Todo todo) {
    if (waiters.isEmpty() || allowed() <= held()) {
      return;
    }
    if (held() == 0) {
      limit = Math.min(limit, work.limitFromEmpty(limit));
    }
    int room = allowed() - held();
    if (room <= 0) {
      return;
    }
    long now = ticker.nanos();
    long pause = backoff.waitNanos(now);
    if (pause > 0) {
      if (!settlePending) {
        settlePending = true;
        todo.settleAfter = pause;
      }
      return;
    }
    int useful = 0;
    for (Slot slot : slots) {
      if (slot.state() == SlotState.OPENING && now - slot.since < SLOW_OPENING_NANOS) {
        useful++;
      }
    }
    int wanted = Math.min(Math.min(waiters.size(), backoff.atOnce()) - useful, room);
    for (int i = 0; i < wanted; i++) {
      Slot slot = emptySlot(now);
      slot.transition(SlotState.EMPTY, SlotState.OPENING);
      slot.since = now;
      opening++;
      todo.open.add(slot);
    }
  }

  private Slot emptySlot(long now) {
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

  private int held() {
    return opening + open + closing;
  }

  private void run(Todo todo) {
    for (Thread thread : todo.wake) {
      LockSupport.unpark(thread);
    }
    for (Slot slot : todo.retire) {
      work.retire(slot);
    }
    for (Slot slot : todo.open) {
      work.open(slot);
    }
    if (todo.rose) {
      work.demandRose();
    }
    if (todo.settleAfter > 0) {
      work.settleAfter(todo.settleAfter);
    }
    if (todo.awake) {
      work.awake();
    }
  }

  // ------------------------------------------------------------------ looking

  /**
   * To be called every fraction of a second while the gate is in use.
   *
   * @return false if nothing is held, wanted or waited for any more, and no call is needed until
   *     {@link Work#awake}
   */
  boolean tick() {
    Todo todo = new Todo();
    boolean goOn;
    lock.lock();
    try {
      ticks++;
      int peak = meter.at(ticker.nanos(), level());
      if (peak > told && !rosePending) {
        rosePending = true;
        todo.rose = true;
      }
      settle(todo);
      goOn = peak > 0 || held() > 0 || !waiters.isEmpty();
      awake = goOn;
    } finally {
      lock.unlock();
    }
    run(todo);
    return goOn;
  }

  /** The figures, all of one moment. */
  PoolUsage usage(PoolUsage.Counters counters) {
    lock.lock();
    try {
      return usageNow(counters);
    } finally {
      lock.unlock();
    }
  }

  /** As {@link #usage}, for a report: a rise above this demand is called out. */
  PoolUsage report(PoolUsage.Counters counters) {
    Todo todo = new Todo();
    PoolUsage usage;
    lock.lock();
    try {
      usage = usageNow(counters);
      told = usage.demand();
      rosePending = false;
    } finally {
      lock.unlock();
    }
    run(todo);
    return usage;
  }

  private PoolUsage usageNow(PoolUsage.Counters counters) {
    long now = ticker.nanos();
    int used = Math.min(open, Math.max(0, inUse.get()));
    Waiter first = waiters.first();
    List<Integer> pids = new ArrayList<>();
    for (Slot slot : slots) {
      PhysicalConnection physical = slot.physical;
      SlotState state = slot.state();
      if (physical != null && physical.pid != 0 && (state.isOpen() || state == SlotState.CLOSING)) {
        pids.add(physical.pid);
      }
    }
    pids.sort(null);
    return new PoolUsage(
        limit,
        Math.min(cap, meter.at(now, level())),
        waiters.size(),
        first == null ? 0 : Math.max(0, now - first.since),
        used,
        open - used,
        opening,
        open,
        closing,
        pids,
        counters);
  }

  /** Whether the calling thread has a connection of this gate. */
  boolean callerHoldsOne() {
    long thread = Thread.currentThread().getId();
    for (Slot slot : slots) {
      if (slot.state() == SlotState.IN_USE && slot.borrowerThread == thread) {
        return true;
      }
    }
    return false;
  }

  /** Why the last opening failed; null if it succeeded. */
  @Nullable SQLException lastOpenFailure() {
    lock.lock();
    try {
      return backoff.lastFailure();
    } finally {
      lock.unlock();
    }
  }

  /** All slots, in any state. */
  Collection<Slot> slots() {
    return List.of(slots);
  }

  /** Gives up empty slots that were not used for that long. */
  List<Slot> dropUnused(long nanos) {
    lock.lock();
    try {
      long now = ticker.nanos();
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
    } finally {
      lock.unlock();
    }
  }

  /** Fails if the figures contradict each other or the rules. */
  void checkInvariants() {
    lock.lock();
    try {
      int[] counted = new int[SlotState.values().length];
      for (Slot slot : slots) {
        counted[slot.state().ordinal()]++;
      }
      int openCounted =
          counted[SlotState.IDLE.ordinal()]
              + counted[SlotState.IN_USE.ordinal()]
              + counted[SlotState.CHECKING.ordinal()];
      require(counted[SlotState.OPENING.ordinal()] == opening, "opening");
      require(openCounted == open, "open");
      require(counted[SlotState.CLOSING.ordinal()] == closing, "closing");
      require(counted[SlotState.DROPPED.ordinal()] == 0, "dropped");
      waiters.checkInvariants();
    } finally {
      lock.unlock();
    }
  }

  private void require(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException(
          "slots are " + Arrays.toString(slots) + ", but the figure of those " + what + " differs");
    }
  }
}
