package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.jdbc.internal.pool.WaiterQueue.Waiter;
import io.pgsteward.model.Ticker;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides who gets which slot, and which slots are opened and closed. Knows neither JDBC nor
 * HikariCP: it moves {@link Slot} objects between states, and has somebody else do the {@link
 * SlotWork}.
 *
 * <h2>Who may do what</h2>
 *
 * A slot's state is its owner's mark. Whoever brings a slot from IDLE to IN_USE by compare-and-set
 * owns it until it brings it out of IN_USE again; nobody else does that, with one exception: the
 * connection itself may end at any time ({@link #closing}), which takes the slot away from its
 * borrower. Every other transition happens under the lock. The figures {@code opening}, {@code
 * open} and {@code closing} of {@link SlotTable} change with those transitions, so they are exact
 * under the lock.
 *
 * <h2>The short path</h2>
 *
 * With nobody waiting and nothing to close, {@link #tryTake} and {@link #giveBack} touch no lock:
 * one compare-and-set on the slot each, and nothing that other threads write. The flag {@code
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
 * One lock, a {@link WorkLock}, held for arithmetic alone: threads are woken and work is done after
 * it is released. Public-looking methods take it, private ones are called with it.
 */
final class SlotGate {

  private final Ticker ticker;
  private final SlotWork work;
  private final WorkLock lock;
  private final int cap;
  private final int maxWaiters;
  private final DemandMeter meter;
  private final SlotTable table;

  /** Whether a borrower or a return must take the lock: somebody waits, or slots must close. */
  private volatile boolean attention;

  /** Whether {@link #tick} is being called; written under the lock. */
  private volatile boolean awake;

  // All that follows is guarded by the lock.
  private final WaiterQueue waiters = new WaiterQueue();
  private final OpenBackoff backoff = new OpenBackoff();
  private int limit;
  private boolean closed;
  private @Nullable String refused;
  private boolean settlePending;

  SlotGate(Ticker ticker, SlotWork work, int limit, int cap, int maxWaiters) {
    this.ticker = ticker;
    this.work = work;
    this.lock = new WorkLock(work);
    this.cap = cap;
    this.limit = Math.min(limit, cap);
    this.maxWaiters = maxWaiters;
    this.meter = new DemandMeter(ticker.nanos());
    this.table = new SlotTable(meter, this::wakeUp);
  }

  // ------------------------------------------------------------------ taking and giving back

  /** A free slot, now {@link SlotState#IN_USE} and the caller's, or null. Never waits. */
  @Nullable Slot tryTake() {
    return attention ? null : table.take();
  }

  /** The slot's connection has come back. */
  void giveBack(Slot slot) {
    slot.holderThread = 0;
    if (attention) {
      lock.run(todo -> place(slot, SlotState.IN_USE, todo));
    } else if (table.putBack(slot) && attention) {
      settle();
    }
  }

  /** HikariCP's test of the connection has ended well. */
  void checked(Slot slot) {
    lock.run(todo -> place(slot, SlotState.CHECKING, todo));
  }

  /** Gives a slot in that open state to whom it belongs now. */
  private void place(Slot slot, SlotState from, SlotWork.Todo todo) {
    if (slot.state() != from) {
      return; // its connection has ended meanwhile, and that was counted then
    }
    if (isSurplus()) {
      close(slot, from, todo);
    } else if (from == SlotState.CHECKING) {
      slot.transition(SlotState.CHECKING, SlotState.IDLE);
      serveFromIdle(todo);
    } else if (waiters.isEmpty()) {
      table.putBack(slot);
    } else {
      hand(slot, todo);
    }
    publishAttention();
  }

  private boolean isSurplus() {
    return table.opening() + table.open() > allowed();
  }

  private void hand(Slot slot, SlotWork.Todo todo) {
    Waiter first = Objects.requireNonNull(waiters.poll(), "nobody waits");
    first.serve(slot);
    todo.wake(first.thread);
  }

  private void close(Slot slot, SlotState from, SlotWork.Todo todo) {
    if (table.beginClosing(slot, from, ticker.nanos())) {
      todo.retire(slot);
    }
  }

  // ------------------------------------------------------------------ waiting

  /**
   * Waits for a slot until the deadline. Afterwards the waiter has a slot or a failure.
   *
   * @param again whether the waiter had its turn before and goes to the head of the queue
   */
  void await(Waiter waiter, long deadline, boolean again) {
    lock.run(todo -> enlist(waiter, deadline, again, todo));
    WaiterQueue.End end = waiter.park(ticker, deadline);
    long waited = ticker.nanos() - waiter.since;
    if (end == WaiterQueue.End.INTERRUPTED) {
      leave(waiter, () -> new BorrowFailure.Interrupted(waited));
      Thread.currentThread().interrupt();
    } else if (end == WaiterQueue.End.LATE) {
      leave(waiter, () -> timedOut(waited));
    }
  }

  private BorrowFailure timedOut(long waited) {
    return new BorrowFailure.TimedOut(
        waited, usageNow(PoolUsage.Counters.NONE), backoff.lastFailure(), table.callerHoldsOne());
  }

  /** Ends a wait in vain, unless it was served or failed in the last moment. */
  private void leave(Waiter waiter, Supplier<BorrowFailure> why) {
    lock.run(
        todo -> {
          if (waiter.isQueued()) {
            waiters.remove(waiter);
            publishAttention();
            waiter.fail(why.get());
          }
        });
  }

  private void enlist(Waiter waiter, long deadline, boolean again, SlotWork.Todo todo) {
    if (again && deadline - ticker.nanos() <= 0) {
      waiter.fail(timedOut(ticker.nanos() - waiter.since)); // its turns have used up its time
      return;
    }
    waiters.add(waiter, again);
    attention = true;
    settle(todo);
    if (!waiter.isQueued()) {
      return;
    }
    int unhelped = waiters.size() - table.opening();
    if (unhelped > 0) {
      waiter.findPoolExhausted();
    }
    if (!again && maxWaiters > 0 && unhelped > maxWaiters) {
      waiters.remove(waiter);
      waiter.fail(new BorrowFailure.TooManyWaiters(usageNow(PoolUsage.Counters.NONE), maxWaiters));
      publishAttention();
    } else {
      tellOfDemand(meter.at(ticker.nanos(), level()), todo);
    }
  }

  private void tellOfDemand(int demand, SlotWork.Todo todo) {
    if (meter.mustTell(demand)) {
      todo.demandRose();
    }
  }

  private int level() {
    return Math.min(cap, table.level(waiters.size(), ticker.nanos()));
  }

  // ------------------------------------------------------------------ what becomes of slots

  /** An opening has succeeded. */
  void opened(Slot slot) {
    lock.run(
        todo -> {
          if (slot.state() != SlotState.OPENING) {
            return;
          }
          backoff.succeeded();
          if (isSurplus()) {
            table.endOpening(slot, SlotState.CLOSING, ticker.nanos());
            todo.retire(slot);
          } else if (waiters.isEmpty()) {
            table.endOpening(slot, SlotState.IDLE, ticker.nanos());
          } else {
            table.endOpening(slot, SlotState.IN_USE, ticker.nanos());
            hand(slot, todo);
          }
          settle(todo);
        });
  }

  /**
   * An opening has failed.
   *
   * @param nothingLeft whether nothing of it can still be alive at PostgreSQL; otherwise the slot
   *     is closing
   */
  void openFailed(Slot slot, SQLException failure, boolean nothingLeft) {
    decide(
        () -> {
          long now = ticker.nanos();
          table.failOpening(slot, nothingLeft ? SlotState.EMPTY : SlotState.CLOSING, now);
          backoff.failed(failure, OpenBackoff.Kind.of(failure), now);
        });
  }

  /**
   * The slot's connection is ending, by whatever cause. Takes it away from a borrower.
   *
   * @param setupFailure why, if it was not yet ready
   * @return whether it was not yet ready
   */
  boolean closing(Slot slot, SQLException setupFailure) {
    return lock.ask(
        todo -> {
          boolean opening = table.end(slot, ticker.nanos()) == SlotState.OPENING;
          if (opening) {
            backoff.failed(setupFailure, OpenBackoff.Kind.of(setupFailure), ticker.nanos());
          }
          settle(todo);
          return opening;
        });
  }

  /** The closing slot's backend is gone. */
  void gone(Slot slot) {
    decide(() -> table.empty(slot, ticker.nanos()));
  }

  /**
   * The borrower did not get this connection from HikariCP, which has it under test.
   *
   * @return whether the slot was still the borrower's
   */
  boolean checking(Slot slot, PhysicalConnection physical) {
    return lock.ask(todo -> slot.physical == physical && table.beginCheck(slot));
  }

  // ------------------------------------------------------------------ what the owner decides

  void limit(int slots) {
    decide(() -> limit = Math.min(slots, cap));
  }

  void refuse(@Nullable String reason) {
    decide(() -> refused = reason);
  }

  void close() {
    decide(() -> closed = true);
  }

  /** Slots that may be opening or open. */
  private int allowed() {
    return closed || refused != null ? 0 : limit;
  }

  // ------------------------------------------------------------------ deciding

  /** Brings slots, waiting threads and the limit together. */
  void settle() {
    decide(() -> settlePending = false);
  }

  private void decide(Runnable what) {
    lock.run(
        todo -> {
          what.run();
          settle(todo);
        });
  }

  private void settle(SlotWork.Todo todo) {
    failIfShut(todo);
    serveFromIdle(todo);
    closeSurplus(todo);
    openForWaiters(todo);
    if (isActive()) {
      awaken(todo);
    }
    publishAttention();
  }

  private boolean isActive() {
    return !waiters.isEmpty() || table.inUse() + table.opening() + table.closing() > 0;
  }

  /** Demand has reached a new peak on the short path, perhaps already past: a tick will know. */
  private void wakeUp() {
    if (!awake) {
      lock.run(this::awaken);
    }
  }

  private void awaken(SlotWork.Todo todo) {
    if (!awake) {
      awake = true;
      todo.awake();
    }
  }

  private void publishAttention() {
    boolean needed = !waiters.isEmpty() || closed || refused != null || isSurplus();
    if (attention != needed) {
      attention = needed;
    }
  }

  private void failIfShut(SlotWork.Todo todo) {
    if (closed) {
      failAll(new BorrowFailure.Closed(), todo);
    } else if (refused != null) {
      failAll(new BorrowFailure.Refused(refused), todo);
    } else if (!waiters.isEmpty() && table.open() == 0) {
      SQLException hopeless = backoff.hopeless(ticker.nanos());
      if (hopeless != null) {
        failAll(new BorrowFailure.OpenFailed(hopeless), todo);
      }
    }
  }

  private void failAll(BorrowFailure failure, SlotWork.Todo todo) {
    for (Waiter waiter = waiters.poll(); waiter != null; waiter = waiters.poll()) {
      waiter.fail(failure);
      todo.wake(waiter.thread);
    }
  }

  private void serveFromIdle(SlotWork.Todo todo) {
    while (!waiters.isEmpty() && !isSurplus()) {
      Slot slot = table.takeWarmest();
      if (slot == null) {
        return;
      }
      hand(slot, todo);
    }
  }

  /** Closes idle slots beyond the limit; those in use follow as they come back. */
  private void closeSurplus(SlotWork.Todo todo) {
    if (!isSurplus()) {
      return;
    }
    attention = true; // returns take the lock from here on; earlier ones are seen as idle below
    for (Slot slot : table.coldestFirst()) {
      if (!isSurplus()) {
        return;
      }
      close(slot, SlotState.IDLE, todo);
    }
  }

  private void openForWaiters(SlotWork.Todo todo) {
    if (waiters.isEmpty() || allowed() <= table.held()) {
      return;
    }
    if (table.held() == 0) {
      limit = Math.min(limit, work.limitFromEmpty(limit));
    }
    int room = allowed() - table.held();
    if (room <= 0) {
      return;
    }
    long now = ticker.nanos();
    long pause = backoff.waitNanos(now);
    if (pause > 0) {
      if (!settlePending) {
        settlePending = true;
        todo.settleAfter(pause);
      }
      return;
    }
    int wanted = Math.min(waiters.size(), backoff.atOnce()) - table.usefulOpenings(now);
    for (int i = 0; i < Math.min(wanted, room); i++) {
      todo.open(table.beginOpening(now, limit));
    }
  }

  // ------------------------------------------------------------------ looking

  /**
   * To be called every fraction of a second while the gate is in use.
   *
   * @return false if nothing is used, wanted or under way any more, and no call is needed until
   *     {@link SlotWork#awake}
   */
  boolean tick() {
    return lock.ask(
        todo -> {
          table.tick();
          settle(todo);
          awake = false; // before demand is read: a peak that comes later wakes the gate again
          int demand = meter.at(ticker.nanos(), level());
          tellOfDemand(demand, todo);
          awake = demand > 0 || isActive();
          return awake;
        });
  }

  /** Whether somebody waits or something is held, so that {@link #tick} is needed. */
  boolean isAwake() {
    return lock.ask(todo -> awake);
  }

  /** The figures, all of one moment. */
  PoolUsage usage(PoolUsage.Counters counters) {
    return lock.read(() -> usageNow(counters));
  }

  /** As {@link #usage}, for a report: a rise above this demand is called out. */
  PoolUsage report(PoolUsage.Counters counters) {
    return lock.read(
        () -> {
          PoolUsage usage = usageNow(counters);
          meter.told(usage.demand());
          return usage;
        });
  }

  private PoolUsage usageNow(PoolUsage.Counters counters) {
    long now = ticker.nanos();
    int demand = Math.min(cap, meter.at(now, level()));
    return table.usage(limit, demand, waiters.size(), waiters.longestWait(now), counters);
  }

  /** Whether the calling thread has a connection of this gate. */
  boolean callerHoldsOne() {
    return table.callerHoldsOne();
  }

  /** All slots, in any state. */
  List<Slot> slots() {
    return table.slots();
  }

  /** Gives up empty slots that were not used for that long. */
  List<Slot> dropUnused(long nanos) {
    return lock.read(() -> table.drop(ticker.nanos(), nanos));
  }

  /** Fails if the figures contradict each other. */
  void checkInvariants() {
    lock.run(todo -> table.checkInvariants());
    lock.run(todo -> waiters.checkInvariants());
  }
}
