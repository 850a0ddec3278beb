package io.pgsteward.jdbc.internal.pool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The right to hold one physical connection, and what is known about that connection. A slot is
 * made once and used again for one connection after the other.
 *
 * <p>Thread-safety: the state changes by compare-and-set alone. Whoever brought it to {@link
 * SlotState#IN_USE} owns the fields that say so; the others are guarded by the gate's lock or are
 * volatile.
 */
final class Slot {

  private static final SlotState[] STATES = SlotState.values();
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Slot.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Lowest first: the order in which slots are filled, so that the highest fall idle. */
  final int index;

  /**
   * The place of the state among {@link SlotState}'s values. A number, because two of its changes
   * stand on the path of every borrow, and the collector watches each change of a reference.
   */
  @SuppressWarnings("FieldMayBeFinal") // written through STATE
  private volatile int state = SlotState.EMPTY.ordinal();

  /** The connection while one is open or closing. */
  volatile @Nullable PhysicalConnection physical;

  /** The sockets of the opening that is under way. */
  volatile @Nullable Wires attempt;

  /** Its HikariCP pool; null until the slot is first opened. */
  volatile @Nullable SlotPool pool;

  /** Owned by the borrower: how often it was lent. */
  long borrows;

  /** Owned by the borrower: the thread that has it or had it last. */
  long borrowerThread;

  /** Written by the borrower when it gets and gives back: the thread that has it; 0: none. */
  long holderThread;

  /** Owned by the borrower: the gate's tick when its use was last counted. */
  int notedAt = -1;

  /** The gate's tick when it last came back; a hint for "the warmest". */
  int usedAt;

  /** Guarded by the gate's lock: since when it is opening, closing, or empty. */
  long since;

  /** Guarded by the gate's lock: when it was opened last. */
  long openedAt;

  Slot(int index) {
    this.index = index;
  }

  SlotState state() {
    return STATES[state];
  }

  /**
   * Every change of state.
   *
   * @return whether the slot was in state {@code from}, and is in state {@code to} now
   * @throws IllegalStateException if no slot may ever go that way
   */
  boolean transition(SlotState from, SlotState to) {
    if (!from.mayBecome(to)) {
      throw new IllegalStateException("a slot never goes from " + from + " to " + to);
    }
    return STATE.compareAndSet(this, from.ordinal(), to.ordinal());
  }

  @Override
  public String toString() {
    return "slot " + index + " " + state();
  }
}
