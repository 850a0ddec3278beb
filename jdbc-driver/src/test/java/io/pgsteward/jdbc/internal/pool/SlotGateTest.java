package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.internal.pool.WaiterQueue.Waiter;
import io.pgsteward.testing.Await;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The gate without connections: the test opens and closes slots by hand, and moves the time. */
@Timeout(60)
class SlotGateTest {

  private static final long FAR = TimeUnit.DAYS.toNanos(1);

  /** What the gate asked for. */
  private static final class Asked implements SlotWork {

    final List<Slot> open = new CopyOnWriteArrayList<>();
    final List<Slot> retire = new CopyOnWriteArrayList<>();
    final AtomicInteger rose = new AtomicInteger();
    final AtomicInteger awake = new AtomicInteger();
    final AtomicLong settleAfter = new AtomicLong();

    long openings() {
      return open.stream().distinct().filter(slot -> slot.state() == SlotState.OPENING).count();
    }

    @Override
    public void open(Slot slot) {
      open.add(slot);
    }

    @Override
    public void retire(Slot slot) {
      retire.add(slot);
    }

    @Override
    public void demandRose() {
      rose.incrementAndGet();
    }

    @Override
    public void settleAfter(long nanos) {
      settleAfter.set(nanos);
    }

    @Override
    public void awake() {
      awake.incrementAndGet();
    }
  }

  private final AtomicLong now = new AtomicLong();
  private final Asked asked = new Asked();
  private final List<Thread> threads = new ArrayList<>();
  private SlotGate gate = gate(3);

  private SlotGate gate(int limit) {
    return new SlotGate(now::get, asked, limit, Integer.MAX_VALUE, 0);
  }

  @AfterEach
  void everythingAddsUp() throws InterruptedException {
    gate.checkInvariants();
    gate.close();
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(20));
      assertThat(thread.isAlive()).isFalse();
    }
    gate.checkInvariants();
  }

  /** A thread that waits; returns once it is in the queue or has been answered. */
  private Waiter waiting() throws InterruptedException {
    int before = usage().waiting();
    List<Waiter> made = new CopyOnWriteArrayList<>();
    Thread thread =
        new Thread(
            () -> {
              Waiter waiter = new Waiter(now.get());
              made.add(waiter);
              gate.await(waiter, now.get() + FAR, false);
            });
    threads.add(thread);
    thread.start();
    Await.until(
        "it waits or was answered",
        () -> !made.isEmpty() && (made.get(0).isDone() || usage().waiting() > before));
    Await.until("what it asks for was asked", () -> asked.openings() == usage().opening());
    return made.get(0);
  }

  private PoolUsage usage() {
    return gate.usage(PoolUsage.Counters.NONE);
  }

  private void pass(long millis) {
    now.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** Opens that many slots, all idle afterwards. */
  private List<Slot> opened(int count) throws InterruptedException {
    List<Slot> slots = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Waiter waiter = waiting();
      gate.opened(asked.open.get(asked.open.size() - 1));
      slots.add(Objects.requireNonNull(waiter.slot()));
    }
    slots.forEach(gate::giveBack);
    asked.open.clear();
    return slots;
  }

  @Nested
  class Openings {

    @Test
    void as_many_are_started_as_threads_wait_and_the_limit_leaves_room_for() throws Exception {
      for (int i = 0; i < 5; i++) {
        waiting();
      }
      assertThat(asked.open).hasSize(3);
      assertThat(usage().opening()).isEqualTo(3);
    }

    @Test
    void the_first_that_succeeds_serves_the_first_that_waits() throws Exception {
      Waiter first = waiting();
      Waiter second = waiting();
      Slot secondOpening = asked.open.get(1);
      gate.opened(secondOpening);
      assertThat(first.slot()).isSameAs(secondOpening);
      assertThat(second.isDone()).isFalse();
      assertThat(secondOpening.state()).isEqualTo(SlotState.IN_USE);
    }

    @Test
    void one_that_is_not_needed_any_more_becomes_idle() throws Exception {
      Slot held = opened(1).get(0);
      assertThat(gate.tryTake()).isSameAs(held);
      Waiter waiter = waiting();
      gate.giveBack(held);
      assertThat(waiter.slot()).isSameAs(held);
      gate.opened(asked.open.get(0));
      assertThat(asked.open.get(0).state()).isEqualTo(SlotState.IDLE);
    }

    @Test
    void one_that_comes_after_a_lowering_is_closed() throws Exception {
      waiting();
      gate.limit(0);
      gate.opened(asked.open.get(0));
      assertThat(asked.retire).containsExactly(asked.open.get(0));
      assertThat(usage().closing()).isEqualTo(1);
    }

    @Test
    void after_a_failure_there_is_a_pause_and_then_one_at_a_time() throws Exception {
      waiting();
      waiting();
      gate.openFailed(asked.open.get(0), new SQLException("full", "53300"), true);
      gate.openFailed(asked.open.get(1), new SQLException("full", "53300"), true);
      assertThat(usage().opening()).isZero();
      assertThat(asked.settleAfter.get()).isPositive();
      pass(1_000);
      gate.settle();
      assertThat(usage().opening()).isEqualTo(1);
      gate.opened(asked.open.get(2));
      assertThat(usage().opening()).isEqualTo(1);
    }

    @Test
    void one_that_lasts_too_long_is_not_counted_as_help() throws Exception {
      waiting();
      gate.tick();
      assertThat(usage().opening()).isEqualTo(1);
      pass(1_001);
      gate.tick();
      assertThat(usage().opening()).isEqualTo(2);
    }

    @Test
    void one_that_may_have_left_a_backend_counts_until_that_is_gone() throws Exception {
      gate.limit(1);
      waiting();
      Slot slot = asked.open.get(0);
      gate.openFailed(slot, new SQLException("timeout", "08001"), false);
      pass(10_000);
      gate.settle();
      assertThat(usage().held()).isEqualTo(1);
      assertThat(asked.open).hasSize(1);
      gate.gone(slot);
      assertThat(asked.open).hasSize(2);
    }

    @Test
    void a_hopeless_failure_fails_all_when_no_connection_is_open() throws Exception {
      Waiter first = waiting();
      Waiter second = waiting();
      gate.openFailed(asked.open.get(0), new SQLException("password", "28P01"), true);
      assertThat(first.failure()).isInstanceOf(BorrowFailure.OpenFailed.class);
      assertThat(second.failure()).isInstanceOf(BorrowFailure.OpenFailed.class);
      Waiter third = waiting();
      assertThat(third.failure()).isInstanceOf(BorrowFailure.OpenFailed.class);
    }
  }

  @Nested
  class Limits {

    @Test
    void nothing_is_opened_before_what_closes_is_gone() throws Exception {
      List<Slot> slots = opened(3);
      gate.limit(1);
      assertThat(asked.retire).hasSize(2);
      assertThat(usage().held()).isEqualTo(3);
      gate.limit(3);
      Slot idle = Objects.requireNonNull(gate.tryTake());
      waiting();
      assertThat(asked.open).isEmpty();
      gate.gone(asked.retire.get(0));
      assertThat(asked.open).hasSize(1);
      assertThat(slots).contains(idle);
      assertThat(usage().held()).isEqualTo(3);
    }

    @Test
    void the_coldest_are_closed_first() throws Exception {
      List<Slot> slots = opened(3);
      gate.tick();
      Slot warm = Objects.requireNonNull(gate.tryTake());
      gate.giveBack(warm);
      gate.limit(1);
      assertThat(asked.retire).hasSize(2).doesNotContain(warm);
      assertThat(slots).containsAll(asked.retire);
    }

    @Test
    void in_use_surplus_closes_when_it_comes_back_and_only_as_much_as_is_too_much()
        throws Exception {
      opened(3);
      List<Slot> taken = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        taken.add(Objects.requireNonNull(gate.tryTake()));
      }
      gate.limit(2);
      assertThat(asked.retire).isEmpty();
      taken.forEach(gate::giveBack);
      assertThat(asked.retire).containsExactly(taken.get(0));
      assertThat(usage().idle()).isEqualTo(2);
    }
  }

  @Nested
  class Taking {

    @Test
    void a_newcomer_does_not_overtake_those_who_wait() throws Exception {
      gate = gate(1);
      Slot only = opened(1).get(0);
      assertThat(gate.tryTake()).isSameAs(only);
      Waiter waiter = waiting();
      gate.giveBack(only);
      assertThat(waiter.slot()).isSameAs(only);
      assertThat(gate.tryTake()).isNull();
    }

    @Test
    void who_was_served_in_vain_is_the_next_again() throws Exception {
      gate = gate(1);
      Slot only = opened(1).get(0);
      assertThat(gate.tryTake()).isSameAs(only);
      waiting();
      List<Waiter> made = new CopyOnWriteArrayList<>();
      Thread thread =
          new Thread(
              () -> {
                Waiter again = new Waiter(now.get());
                made.add(again);
                gate.await(again, now.get() + FAR, true);
              });
      threads.add(thread);
      thread.start();
      Await.until("both wait", () -> usage().waiting() == 2);
      gate.giveBack(only);
      assertThat(made.get(0).slot()).isSameAs(only);
    }

    @Test
    void whose_turns_have_used_up_its_time_gets_no_further_one() throws Exception {
      Slot idle = opened(1).get(0);
      pass(1_000);
      Waiter late = new Waiter(0);
      gate.await(late, now.get(), true);
      assertThat(late.failure()).isInstanceOf(BorrowFailure.TimedOut.class);
      assertThat(idle.state()).isEqualTo(SlotState.IDLE);
    }

    @Test
    void a_connection_that_ends_in_use_is_not_given_back_a_second_time() throws Exception {
      Slot slot = opened(1).get(0);
      assertThat(gate.tryTake()).isSameAs(slot);
      gate.closing(slot, new SQLException());
      assertThat(usage().inUse()).isZero();
      gate.giveBack(slot);
      assertThat(slot.state()).isEqualTo(SlotState.CLOSING);
      gate.gone(slot);
      gate.giveBack(slot);
      assertThat(slot.state()).isEqualTo(SlotState.EMPTY);
      assertThat(usage().held()).isZero();
    }

    @Test
    void a_connection_under_test_comes_back_to_who_waits() throws Exception {
      gate = gate(1);
      Slot slot = opened(1).get(0);
      assertThat(gate.tryTake()).isSameAs(slot);
      PhysicalConnection physical = connectionOf(slot);
      assertThat(gate.checking(slot, physical)).isTrue();
      Waiter waiter = waiting();
      assertThat(waiter.isDone()).isFalse();
      assertThat(usage().open()).isEqualTo(1);
      gate.checked(slot);
      assertThat(waiter.slot()).isSameAs(slot);
    }

    @Test
    void a_borrower_says_nothing_about_a_connection_that_replaced_its_own() throws Exception {
      Slot slot = opened(1).get(0);
      assertThat(gate.tryTake()).isSameAs(slot);
      PhysicalConnection mine = connectionOf(slot);
      connectionOf(slot);
      assertThat(gate.checking(slot, mine)).isFalse();
      assertThat(slot.state()).isEqualTo(SlotState.IN_USE);
      gate.giveBack(slot);
    }

    private PhysicalConnection connectionOf(Slot slot) {
      PhysicalConnection physical =
          new PhysicalConnection(
              slot,
              new StubDriver().new StubConnection(),
              0,
              1_000,
              new AtomicInteger(PhysicalConnection.UNKNOWN),
              new Wires(now::get, FAR, 1, FAR),
              new PhysicalConnection.Owner() {
                @Override
                public void closing(PhysicalConnection physical) {}

                @Override
                public void closed(PhysicalConnection physical, boolean gone) {}
              });
      slot.physical = physical;
      return physical;
    }
  }

  @Nested
  class Ticking {

    @Test
    void it_is_asked_for_when_something_begins_and_ends_when_all_is_quiet() throws Exception {
      Slot slot = opened(1).get(0);
      assertThat(asked.awake).hasValue(1);
      assertThat(gate.tick()).isTrue();
      pass(2_000);
      assertThat(gate.tick()).isFalse();
      assertThat(gate.tryTake()).isSameAs(slot);
      assertThat(asked.awake).as("a new peak on the short path").hasValue(2);
    }

    @Test
    void a_rise_on_the_short_path_is_told_too() throws Exception {
      opened(2);
      pass(5_000);
      gate.tick();
      assertThat(gate.report(PoolUsage.Counters.NONE).demand()).isZero();
      int before = asked.rose.get();
      assertThat(gate.tryTake()).isNotNull();
      gate.tick();
      assertThat(asked.rose).hasValue(before + 1);
    }

    @Test
    void a_close_that_lasts_counts_as_demand_while_somebody_waits() throws Exception {
      gate = gate(1);
      Slot lingering = opened(1).get(0);
      gate.closing(lingering, new SQLException());
      waiting();
      assertThat(usage().demand()).isEqualTo(1);
      pass(1_500);
      gate.tick();
      assertThat(usage().demand()).isEqualTo(2);
      gate.gone(lingering);
    }

    @Test
    void a_burst_counts_though_it_is_over_when_the_tick_comes() throws Exception {
      opened(3);
      pass(5_000);
      gate.tick();
      assertThat(usage().demand()).isZero();
      List<Slot> burst = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        burst.add(Objects.requireNonNull(gate.tryTake()));
      }
      burst.forEach(gate::giveBack);
      pass(250);
      gate.tick();
      assertThat(usage().demand()).isEqualTo(3);
    }

    @Test
    void what_is_held_together_counts_by_the_next_tick_at_the_latest() throws Exception {
      List<Slot> slots = opened(2);
      pass(5_000);
      gate.tick();
      slots.forEach(slot -> slot.borrows = 1);
      for (int i = 0; i < 2; i++) {
        gate.giveBack(Objects.requireNonNull(gate.tryTake()));
      }
      assertThat(usage().demand()).isEqualTo(1);
      assertThat(gate.tryTake()).isNotNull();
      assertThat(gate.tryTake()).isNotNull();
      gate.tick();
      assertThat(usage().demand()).isEqualTo(2);
      slots.forEach(gate::giveBack);
    }

    @Test
    void a_peak_between_two_ticks_wakes_a_gate_that_has_gone_to_sleep() throws Exception {
      opened(1);
      pass(2_000);
      assertThat(gate.tick()).isFalse();
      int before = asked.awake.get();
      gate.giveBack(Objects.requireNonNull(gate.tryTake()));
      assertThat(asked.awake).hasValue(before + 1);
      assertThat(gate.tick()).isTrue();
    }

    @Test
    void empty_slots_are_given_up_after_a_while() throws Exception {
      List<Slot> slots = opened(2);
      gate.limit(0);
      slots.forEach(gate::gone);
      assertThat(gate.dropUnused(TimeUnit.SECONDS.toNanos(60))).isEmpty();
      pass(60_000);
      assertThat(gate.dropUnused(TimeUnit.SECONDS.toNanos(60))).hasSize(2);
      assertThat(gate.slots()).isEmpty();
      assertThat(slots).allMatch(slot -> slot.state() == SlotState.DROPPED);
    }
  }
}
