package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.jdbc.internal.pool.WaiterQueue.Waiter;
import io.pgsteward.model.Ticker;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The connections of one tenant in this process. How many there may be is {@link #limit}; who is
 * next, and when one is opened or closed, is decided by {@link SlotGate}; each is kept healthy by a
 * HikariCP pool of its own ({@link SlotPool}). Thread-safe.
 */
public final class TenantPool implements AutoCloseable {

  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** While nothing is in use or under way: only for slots that were not used for long. */
  private static final long QUIET_TICK_NANOS = TimeUnit.SECONDS.toNanos(15);

  private static final long ASK_WITHIN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final TenantPoolSettings settings;
  private final Ticker ticker;
  private final PoolRuntime runtime;
  private final PoolEvents events;
  private final Function<BorrowFailure, SQLException> explain;
  private final SlotGate gate;
  private final SlotReclaimer reclaimer;
  private final SlotOpener opener;
  private final ThreadFactory threads;

  /** Guards {@code nextTick} and is held for nothing else. */
  private final ReentrantLock tickLock = new ReentrantLock();

  private @Nullable Future<?> nextTick;

  private final AtomicInteger defaultIsolation = new AtomicInteger(PhysicalConnection.UNKNOWN);
  private final AtomicLong timedOut = new AtomicLong();
  private final AtomicLong opened = new AtomicLong();
  private final AtomicLong failedOpens = new AtomicLong();
  private final AtomicLong refused53300 = new AtomicLong();
  private final AtomicLong selfWaits = new AtomicLong();
  private final AtomicLong borrowedFromDropped = new AtomicLong();

  /**
   * A pool without connections.
   *
   * @param explain makes the exception that a failed borrower gets
   */
  public TenantPool(
      TenantPoolSettings settings,
      PoolRuntime runtime,
      PoolEvents events,
      Function<BorrowFailure, SQLException> explain) {
    this.settings = settings;
    this.ticker = runtime.ticker();
    this.runtime = runtime;
    this.events = events;
    this.explain = explain;
    this.opener = new SlotOpener(settings, ticker);
    this.threads = PoolRuntime.threads(settings.tenant(), "connection");
    this.gate =
        new SlotGate(
            ticker, new GateWork(), settings.initialLimit(), settings.cap(), settings.maxWaiters());
    this.reclaimer = new SlotReclaimer(settings, runtime, events, gate, this::borrowToAsk);
    runtime.add(this);
  }

  /**
   * A connection; closing it gives it back.
   *
   * @param timeoutNanos longest wait; 0 or less: only what is free now
   * @throws SQLException as {@code explain} makes it
   */
  public Connection getConnection(long timeoutNanos) throws SQLException {
    Slot slot = gate.tryTake();
    if (slot != null) {
      PhysicalConnection physical = slot.physical;
      Connection connection = physical == null ? null : lend(slot, physical, timeoutNanos);
      if (connection != null) {
        return connection;
      }
      long began = physical == null ? 0 : physical.testBegan();
      return waitForConnection(began == 0 ? ticker.nanos() : began, timeoutNanos, true);
    }
    return waitForConnection(ticker.nanos(), timeoutNanos, false);
  }

  /** A connection that is idle now or comes back within a moment, before all who wait, or null. */
  private @Nullable Connection borrowToAsk() {
    Slot slot = gate.tryTake();
    if (slot == null && gate.slots().stream().anyMatch(s -> s.state() == SlotState.IN_USE)) {
      long now = ticker.nanos();
      Waiter waiter = new Waiter(now);
      gate.await(waiter, now + ASK_WITHIN_NANOS, true);
      slot = waiter.slot();
    }
    PhysicalConnection physical = slot == null ? null : slot.physical;
    return slot == null || physical == null
        ? null
        : lend(slot, physical, settings.validationTimeout().toNanos());
  }

  private @Nullable Connection lend(Slot slot, PhysicalConnection physical, long nanos) {
    SlotPool pool = slot.pool;
    Connection connection = pool == null ? null : pool.lend(physical, nanos);
    if (connection == null) {
      giveUp(slot, physical);
      return null;
    }
    slot.borrows++;
    long thread = Thread.currentThread().getId();
    slot.borrowerThread = thread;
    slot.holderThread = thread;
    return connection;
  }

  /** HikariCP did not give the connection: it is being closed, or tested. */
  private void giveUp(Slot slot, PhysicalConnection physical) {
    if (gate.checking(slot, physical)) {
      reclaimer.watchTest(slot);
    }
  }

  private Connection waitForConnection(long since, long timeoutNanos, boolean hadTurn)
      throws SQLException {
    long deadline = since + Math.min(Math.max(timeoutNanos, 0), Long.MAX_VALUE / 2);
    Waiter waiter = new Waiter(since);
    boolean holdsOne = gate.callerHoldsOne();
    boolean again = hadTurn;
    while (true) {
      gate.await(waiter, deadline, again);
      if (holdsOne && waiter.foundPoolExhausted()) {
        selfWaits.incrementAndGet();
        holdsOne = false;
      }
      BorrowFailure failure = waiter.failure();
      if (failure != null) {
        throw explained(failure);
      }
      Slot slot = Objects.requireNonNull(waiter.slot());
      PhysicalConnection physical = slot.physical;
      long left = Math.max(1, deadline - ticker.nanos());
      Connection connection = physical == null ? null : lend(slot, physical, left);
      if (connection != null) {
        events.borrowed(ticker.nanos() - since);
        return connection;
      }
      again = true;
    }
  }

  private SQLException explained(BorrowFailure failure) {
    if (failure instanceof BorrowFailure.TimedOut of) {
      timedOut.incrementAndGet();
      events.timedOut(of.waitedNanos());
      return explain.apply(
          new BorrowFailure.TimedOut(
              of.waitedNanos(),
              of.usage().with(counters()),
              of.lastOpenFailure(),
              of.callerHoldsConnection()));
    }
    if (failure instanceof BorrowFailure.TooManyWaiters of) {
      return explain.apply(
          new BorrowFailure.TooManyWaiters(of.usage().with(counters()), of.maxWaiters()));
    }
    return explain.apply(failure);
  }

  /**
   * How many physical connections the pool may hold. A raise serves waiting threads at once; after
   * a lowering idle connections are closed at once and those in use when they come back.
   *
   * @param slots the grant, or what the member goes by without one; at least 0
   */
  public void limit(int slots) {
    if (slots < 0) {
      throw new IllegalArgumentException("a limit is at least 0, but it was " + slots);
    }
    gate.limit(slots);
  }

  /**
   * The coordinator will never grant this tenant anything under its present configuration: waiting
   * threads and later ones fail at once, idle connections are closed.
   *
   * @param reason its words; null takes the refusal back
   */
  public void refuse(@Nullable String reason) {
    gate.refuse(reason);
  }

  /** The pool in one moment. */
  public PoolUsage usage() {
    return gate.usage(counters());
  }

  /**
   * The pool in one moment, for a report to the coordinator: when demand rises above what this
   * says, {@link PoolEvents#demandRose} is called.
   */
  public PoolUsage report() {
    return gate.report(counters());
  }

  /**
   * PostgreSQL shows no backend with these process ids any more: closing connections that have one
   * of them are closed for good.
   */
  public void gone(Collection<Integer> pids) {
    reclaimer.gone(pids);
  }

  private PoolUsage.Counters counters() {
    long borrowed = borrowedFromDropped.get();
    for (Slot slot : gate.slots()) {
      borrowed += slot.borrows;
    }
    return new PoolUsage.Counters(
        borrowed,
        timedOut.get(),
        opened.get(),
        reclaimer.closed(),
        failedOpens.get() + reclaimer.failedSetups(),
        refused53300.get(),
        selfWaits.get(),
        reclaimer.unconfirmed(),
        reclaimer.gaveUp());
  }

  /**
   * Closes the pool: waiting threads fail, idle connections are closed, those in use when they come
   * back. Returns at once. Idempotent.
   */
  @Override
  public void close() {
    gate.close();
    reclaimer.closePool();
    tickAfter(0);
  }

  /**
   * Waits until every connection is closed and its backend gone.
   *
   * @return whether that happened within the time
   */
  public boolean awaitClosed(long nanos) throws InterruptedException {
    return reclaimer.awaitEmpty(nanos);
  }

  /** Ends openings and closes that hang; the runtime's last means, after {@link #close}. */
  void abandonHanging() {
    reclaimer.abandonHanging();
    tick();
  }

  /** Fails if the pool's figures contradict each other or the rules. */
  public void checkInvariants() {
    gate.checkInvariants();
  }

  @Override
  public String toString() {
    return "TenantPool[" + settings.tenant() + "]";
  }

  // ------------------------------------------------------------------ opening

  private PhysicalConnection open(Slot slot) throws SQLException {
    if (slot.state() != SlotState.OPENING || slot.physical != null) {
      throw new SQLException("this slot is not to be opened now");
    }
    Wires wires = opener.attempt(slot.since);
    slot.attempt = wires;
    long began = ticker.nanos();
    try {
      Connection raw = opener.open(wires);
      PhysicalConnection physical =
          new PhysicalConnection(
              slot,
              raw,
              ticker.nanos() - began,
              (int) settings.validationTimeout().toMillis(),
              defaultIsolation,
              wires,
              reclaimer);
      slot.physical = physical;
      wires.opened(physical);
      return physical;
    } catch (SQLException e) {
      openFailed(slot, wires, e);
      throw e;
    } catch (RuntimeException | Error e) {
      openFailed(slot, wires, new SQLException("opening a connection failed", e));
      throw e;
    } finally {
      slot.attempt = null;
    }
  }

  private void openFailed(Slot slot, Wires wires, SQLException failure) {
    wires.close();
    if (OpenBackoff.Kind.of(failure) == OpenBackoff.Kind.FULL) {
      refused53300.incrementAndGet();
    } else {
      failedOpens.incrementAndGet();
    }
    boolean nothingLeft = wires.isEmpty() || wires.gone() || wires.isAbandoned();
    // In this order: a look that finds the backend gone must find the slot closing.
    gate.openFailed(slot, failure, nothingLeft);
    if (!nothingLeft) {
      reclaimer.watchLost(slot, wires);
    }
    events.openFailed(failure);
  }

  private void ready(Slot slot) {
    PhysicalConnection physical = slot.physical;
    if (physical == null || physical.isClosing() || slot.state() != SlotState.OPENING) {
      return;
    }
    physical.setReady();
    opened.incrementAndGet();
    gate.opened(slot);
    events.opened(physical.pid, physical.openNanos);
  }

  // ------------------------------------------------------------------ ticking

  /** Calls {@link #tick} after that time instead of whenever it was planned. */
  private void tickAfter(long nanos) {
    tickLock.lock();
    try {
      planTick(nanos);
    } finally {
      tickLock.unlock();
    }
  }

  /** Unless the gate was woken meanwhile: its tick is planned then, and must not be put off. */
  private void quietTick() {
    tickLock.lock();
    try {
      planTick(gate.isAwake() ? TICK_NANOS : QUIET_TICK_NANOS);
    } finally {
      tickLock.unlock();
    }
  }

  private void planTick(long nanos) {
    Future<?> planned = nextTick;
    if (planned != null) {
      planned.cancel(false);
    }
    nextTick = runtime.after(nanos, this::tick);
  }

  private void tick() {
    boolean active = gate.tick();
    for (Slot slot : reclaimer.tick()) {
      borrowedFromDropped.addAndGet(slot.borrows);
    }
    if (reclaimer.isEmpty()) {
      runtime.remove(this);
    } else if (active) {
      tickAfter(TICK_NANOS);
    } else if (!gate.slots().isEmpty()) {
      quietTick();
    }
  }

  /** What the gate wants done. */
  private final class GateWork implements SlotWork {

    @Override
    public void open(Slot slot) {
      SlotPool pool = slot.pool;
      if (pool == null) {
        pool = new SlotPool(slot, new PoolOwner(), settings, runtime, threads);
        slot.pool = pool;
      }
      pool.open();
    }

    @Override
    public void retire(Slot slot) {
      reclaimer.retire(slot);
    }

    @Override
    public void demandRose() {
      events.demandRose();
    }

    @Override
    public void settleAfter(long nanos) {
      var unused = runtime.after(nanos, gate::settle);
    }

    @Override
    public int limitFromEmpty(int limit) {
      return events.limitFromEmpty(limit);
    }

    @Override
    public void awake() {
      tickAfter(TICK_NANOS);
    }
  }

  /** What HikariCP tells. */
  private final class PoolOwner implements SlotPool.Owner {

    @Override
    public PhysicalConnection connect(Slot slot) throws SQLException {
      return TenantPool.this.open(slot);
    }

    @Override
    public void ready(Slot slot) {
      TenantPool.this.ready(slot);
    }

    @Override
    public void returned(Slot slot) {
      gate.giveBack(slot);
    }
  }
}
