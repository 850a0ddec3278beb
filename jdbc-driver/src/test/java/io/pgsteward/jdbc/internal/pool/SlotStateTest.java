package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.SlotState.CHECKING;
import static io.pgsteward.jdbc.internal.pool.SlotState.CLOSING;
import static io.pgsteward.jdbc.internal.pool.SlotState.DROPPED;
import static io.pgsteward.jdbc.internal.pool.SlotState.EMPTY;
import static io.pgsteward.jdbc.internal.pool.SlotState.IDLE;
import static io.pgsteward.jdbc.internal.pool.SlotState.IN_USE;
import static io.pgsteward.jdbc.internal.pool.SlotState.OPENING;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class SlotStateTest {

  private static final Map<SlotState, Set<SlotState>> ALLOWED =
      Map.of(
          EMPTY, Set.of(OPENING, DROPPED),
          OPENING, Set.of(IDLE, IN_USE, CLOSING, EMPTY),
          IDLE, Set.of(IN_USE, CLOSING),
          IN_USE, Set.of(IDLE, CHECKING, CLOSING),
          CHECKING, Set.of(IDLE, CLOSING),
          CLOSING, Set.of(EMPTY),
          DROPPED, Set.of());

  /** How a new slot is brought to each state. */
  private static final Map<SlotState, List<SlotState>> WAYS =
      Map.of(
          EMPTY, List.of(EMPTY),
          OPENING, List.of(EMPTY, OPENING),
          IDLE, List.of(EMPTY, OPENING, IDLE),
          IN_USE, List.of(EMPTY, OPENING, IN_USE),
          CHECKING, List.of(EMPTY, OPENING, IN_USE, CHECKING),
          CLOSING, List.of(EMPTY, OPENING, CLOSING),
          DROPPED, List.of(EMPTY, DROPPED));

  static Stream<Arguments> pairs() {
    return Arrays.stream(SlotState.values())
        .flatMap(from -> Arrays.stream(SlotState.values()).map(to -> Arguments.of(from, to)));
  }

  private static Slot slotIn(SlotState state) {
    Slot slot = new Slot(0);
    List<SlotState> way = WAYS.getOrDefault(state, List.of());
    for (int i = 1; i < way.size(); i++) {
      assertThat(slot.transition(way.get(i - 1), way.get(i))).isTrue();
    }
    assertThat(slot.state()).isEqualTo(state);
    return slot;
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void a_slot_goes_only_the_ways_that_are_drawn(SlotState from, SlotState to) {
    Slot slot = slotIn(from);
    if (ALLOWED.getOrDefault(from, Set.of()).contains(to)) {
      assertThat(slot.transition(from, to)).isTrue();
      assertThat(slot.state()).isEqualTo(to);
    } else {
      assertThatThrownBy(() -> slot.transition(from, to))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("a slot never goes from " + from + " to " + to);
      assertThat(slot.state()).isEqualTo(from);
    }
  }

  @Test
  void a_transition_from_another_state_than_the_present_one_changes_nothing() {
    Slot slot = slotIn(IN_USE);
    assertThat(slot.transition(IDLE, CLOSING)).isFalse();
    assertThat(slot.state()).isEqualTo(IN_USE);
  }
}
