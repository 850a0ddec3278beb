package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.model.Ticker;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees every connection of a pool to its end: takes idle ones out of HikariCP's hands, learns when
 * a backend has exited, keeps those {@code closing} that nobody could confirm, and gives up slots
 * and their HikariCP pools that were not used for long. Thread-safe without a lock of its own.
 */
final class SlotReclaimer implements PhysicalConnection.Owner {

  private static final Logger LOG = LoggerFactory.getLogger(SlotReclaimer.class);

  private static final long REPEAT_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** How long an empty slot keeps its HikariCP pool. */
  /** Asking may make a borrower wait for a moment. */
  private static final long ASK_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final long PARKED_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** HikariCP adds a new connection within microseconds, unless its thread gets no time. */
  private static final long FORGOTTEN_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** A slot whose backend nobody has seen exit. */
  private record Lost(Wires wires, int pid, long since) {}

  private final TenantPoolSettings settings;
  private final PoolRuntime runtime;
  private final Ticker ticker;
  private final PoolEvents events;
  private final SlotGate gate;
  private final Supplier<@Nullable Connection> borrowToAsk;
  private volatile long askedNanos;
  private final AtomicBoolean asking = new AtomicBoolean();
  private final Map<Slot, Lost> lost = new ConcurrentHashMap<>();
  private final CountDownLatch empty = new CountDownLatch(1);
  private final AtomicInteger shuttingDown = new AtomicInteger();
  private final AtomicLong closed = new AtomicLong();
  private final AtomicLong failedSetups = new AtomicLong();
  private final AtomicLong unconfirmed = new AtomicLong();
  private final AtomicLong gaveUp = new AtomicLong();
  private volatile boolean poolClosed;

  /**
   * @param borrowToAsk a connection that is idle now or comes back within a moment, or null
   */
  SlotReclaimer(
      TenantPoolSettings settings,
      PoolRuntime runtime,
      PoolEvents events,
      SlotGate gate,
      Supplier<@Nullable Connection> borrowToAsk) {
    this.borrowToAsk = borrowToAsk;
    this.settings = settings;
    this.runtime = runtime;
    this.ticker = runtime.ticker();
    this.askedNanos = ticker.nanos() - ASK_EVERY_NANOS;
    this.events = events;
    this.gate = gate;
  }

  /**
   * Closes the connection of a slot that is {@link SlotState#CLOSING}. HikariCP closes an idle one
   * at once; one that it is just testing, taking back or adding it does not, so this repeats.
   */
  void retire(Slot slot) {
    PhysicalConnection physical = slot.physical;
    SlotPool pool = slot.pool;
    if (physical == null || pool == null || physical.isClosing()) {
      return;
    }
    pool.evict();
    if (!physical.isClosing()) {
      var unused = runtime.after(REPEAT_NANOS, () -> retireAgain(slot, physical));
    }
  }

  private void retireAgain(Slot slot, PhysicalConnection physical) {
    if (slot.physical == physical) {
      retire(slot);
    }
  }

  /** HikariCP has the connection, to test it or to add it; offers the slot when it has ended. */
  void watchTest(Slot slot) {
    watchTest(slot, ticker.nanos());
  }

  private void watchTest(Slot slot, long since) {
    var unused = runtime.after(REPEAT_NANOS, () -> lookAtTest(slot, since));
  }

  private void lookAtTest(Slot slot, long since) {
    SlotPool pool = slot.pool;
    PhysicalConnection physical = slot.physical;
    if (slot.state() != SlotState.CHECKING || pool == null || physical == null) {
      return;
    }
    if (pool.isIdle()) {
      gate.checked(slot);
    } else if (pool.isEmpty() && ticker.nanos() - since > FORGOTTEN_NANOS) {
      // HikariCP has given the connection up without closing it.
      runtime.cleaner().execute(physical::closeQuietly);
    } else {
      watchTest(slot, since);
    }
  }

  @Override
  public void closing(PhysicalConnection physical) {
    Slot slot = physical.slot;
    SQLException setupFailure = physical.setupFailure();
    if (gate.closing(slot, setupFailure)) {
      failedSetups.incrementAndGet();
      events.openFailed(setupFailure);
    }
    SlotPool pool = slot.pool;
    if (pool != null && !pool.isEmpty()) {
      pool.takeBack();
    }
  }

  @Override
  public void closed(PhysicalConnection physical, boolean gone) {
    if (gone) {
      finish(physical.slot, physical.pid);
      return;
    }
    lost.put(physical.slot, new Lost(physical.wires, physical.pid, ticker.nanos()));
    unconfirmed.incrementAndGet();
    events.closeUnconfirmed(physical.pid);
  }

  /** An opening has failed, but its backend may live. */
  void watchLost(Slot slot, Wires wires) {
    Lost opening = new Lost(wires, 0, ticker.nanos());
    lost.put(slot, opening);
    unconfirmed.incrementAndGet();
    events.closeUnconfirmed(0);
    if (wires.isAbandoned() && lost.remove(slot, opening)) {
      // The pool was closed in between and gave up all that it could see.
      gaveUp.incrementAndGet();
      finish(slot, 0);
    }
  }

  private void finish(Slot slot, int pid) {
    lost.remove(slot);
    closed.incrementAndGet();
    gate.gone(slot);
    events.closed(pid);
    events.slotReleased();
  }

  void gone(Collection<Integer> pids) {
    lost.forEach(
        (slot, of) -> {
          if (of.pid() != 0 && pids.contains(of.pid()) && lost.remove(slot, of)) {
            of.wires().abandon();
            finish(slot, of.pid());
          }
        });
  }

  /**
   * Asks PostgreSQL, over a connection that is idle or comes back soon, for the backends not yet
   * seen gone.
   */
  private void askPostgres() {
    Set<Integer> pids = new HashSet<>();
    lost.values().forEach(of -> pids.add(of.pid()));
    pids.remove(0);
    long now = ticker.nanos();
    if (!pids.isEmpty()
        && now - askedNanos >= ASK_EVERY_NANOS
        && asking.compareAndSet(false, true)) {
      askedNanos = now;
      runtime.cleaner().execute(() -> askPostgres(pids));
    }
  }

  private void askPostgres(Set<Integer> pids) {
    try (Connection connection = borrowToAsk.get()) {
      if (connection != null) {
        gone(BackendCheck.gone(connection, pids));
      }
    } catch (SQLException e) {
      LOG.debug("{}: asking PostgreSQL for closing connections has failed", settings.tenant(), e);
    } finally {
      asking.set(false);
    }
  }

  /** Looks again at the closes that were not confirmed, and gives up those that never will be. */
  private void lookAgain() {
    long giveUp = settings.closeGiveUp().toNanos();
    lost.forEach(
        (slot, of) -> {
          boolean gone = of.wires().goneNow();
          boolean over = ticker.nanos() - of.since() >= giveUp;
          if ((gone || over) && lost.remove(slot, of)) {
            if (!gone) {
              gaveUp.incrementAndGet();
              of.wires().abandon();
            }
            finish(slot, of.pid());
          }
        });
  }

  /**
   * To be called every now and then while the pool has slots.
   *
   * @return slots that were given up
   */
  List<Slot> tick() {
    lookAgain();
    askPostgres();
    List<Slot> dropped;
    // Counted before the slots leave the gate, or another thread could see neither.
    shuttingDown.incrementAndGet();
    try {
      dropped = gate.dropUnused(poolClosed ? 0 : PARKED_NANOS);
      dropped.forEach(this::shutDown);
    } finally {
      shuttingDown.decrementAndGet();
    }
    countDownIfEmpty();
    return dropped;
  }

  /** Ends the slot's HikariCP pool; that blocks for milliseconds. */
  private void shutDown(Slot slot) {
    SlotPool pool = slot.pool;
    if (pool == null) {
      return;
    }
    shuttingDown.incrementAndGet();
    runtime
        .cleaner()
        .execute(
            () -> {
              try {
                pool.shutdown();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // the runtime ends; so does this thread
              } finally {
                shuttingDown.decrementAndGet();
                countDownIfEmpty();
              }
            });
  }

  private void countDownIfEmpty() {
    if (poolClosed && shuttingDown.get() == 0 && gate.slots().isEmpty()) {
      empty.countDown();
    }
  }

  /** The pool is closed: slots are given up as soon as they are empty. */
  void closePool() {
    poolClosed = true;
  }

  boolean isEmpty() {
    return empty.getCount() == 0;
  }

  boolean awaitEmpty(long nanos) throws InterruptedException {
    return empty.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Ends what hangs: openings under way and closes that nobody has confirmed. */
  void abandonHanging() {
    for (Slot slot : gate.slots()) {
      Wires attempt = slot.attempt;
      if (attempt != null) {
        attempt.abandon();
      }
    }
    lost.forEach(
        (slot, of) -> {
          of.wires().abandon();
          if (lost.remove(slot, of)) {
            gaveUp.incrementAndGet();
            finish(slot, of.pid());
          }
        });
  }

  long closed() {
    return closed.get();
  }

  /** Connections that were opened but could not be set up. */
  long failedSetups() {
    return failedSetups.get();
  }

  long unconfirmed() {
    return unconfirmed.get();
  }

  long gaveUp() {
    return gaveUp.get();
  }
}
