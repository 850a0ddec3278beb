package io.pgsteward.allocation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.allocation.MemberSplit.MemberClaim;
import io.pgsteward.model.MemberId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MemberSplitTest {

  private static final long SECOND = 1_000_000_000L;

  private final MemberSplit members = new MemberSplit(SECOND);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          10 | p1(2,0) p2(9,0) p3(9,0)  | 2, 4, 4
          5  | p1(1,0) p2(1,0) p3(20,0) | 1, 1, 3
          3  | p1(5,5) p2(5,4) p3(5,1)  | 1, 1, 1
          8  | p1(5,5) p2(0,3)          | 5, 3
          7  | p1(5,5) p2(0,3)          | 5, 2
          10 | p1(3,5) p2(5,5)          | 5, 5
          5  | p1(5,2) p2(5,3)          | 2, 3
          0  | p1(5,5) p2(5,0)          | 0, 0
          9  | p1(2,0)                  | 2
          """)
  void slots_are_split_as_the_table_says(int slots, String claims, String expected) {
    assertThat(members.split(slots, ClaimText.members(claims)))
        .containsExactly(AllocatorTest.figures(expected));
  }

  @Test
  void a_lopsided_split_is_even_within_a_bounded_number_of_rounds() {
    List<MemberClaim> claims = ClaimText.members("p1(10,6) p2(4,0)");
    int[] first = members.split(6, claims);
    int[] second = members.split(6, after(claims, first));

    assertThat(first).containsExactly(4, 2);
    assertThat(second).containsExactly(3, 3);
  }

  @Test
  void eight_processes_that_join_four_have_their_share_after_three_rounds() {
    List<MemberClaim> claims = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      int current = i < 4 ? 15 : 0;
      claims.add(claim(i, 20, current, current, 0));
    }
    int[] granted = new int[0];
    for (int round = 0; round < 3; round++) {
      granted = members.split(60, claims);
      assertThat(raised(claims, granted)).isLessThanOrEqualTo(15);
      claims = after(claims, granted);
    }
    assertThat(granted).containsOnly(5);
  }

  @Test
  void free_slots_and_lost_slots_do_not_count_as_migration() {
    assertThat(members.split(40, ClaimText.members("p1(20,0) p2(20,0)"))).containsExactly(20, 20);
    assertThat(members.split(4, ClaimText.members("p1(20,20) p2(20,20)"))).containsExactly(2, 2);
  }

  @Test
  void idle_slots_go_before_wanted_ones_when_migration_is_bounded() {
    // The target is 10, 10, 20; of the 20 slots that p3 wants, one call moves 10.
    assertThat(members.split(40, ClaimText.members("p1(10,20) p2(10,20) p3(20,0)")))
        .containsExactly(15, 15, 10);
    // p1 wants all it has, p2 nothing: p2 gives.
    assertThat(members.split(40, ClaimText.members("p1(30,20) p2(0,20) p3(30,0)")))
        .containsExactly(20, 10, 10);
  }

  @Test
  void thirty_members_on_twenty_slots_are_all_served_in_turn() {
    SlotClock[] clocks =
        IntStream.range(0, 30).mapToObj(i -> new SlotClock()).toArray(SlotClock[]::new);
    int[] granted = new int[30];
    int[] without = new int[30];
    long now = 0;
    for (int round = 0; round < 600; round++) {
      List<MemberClaim> claims = new ArrayList<>();
      for (int i = 0; i < 30; i++) {
        clocks[i].note(granted[i], 1, now);
        claims.add(
            new MemberClaim(
                ClaimText.member(String.format("p%02d", i)),
                1,
                granted[i],
                granted[i],
                clocks[i].waitedNanos(now + SECOND / 10),
                clocks[i].residedNanos(now + SECOND / 10)));
      }
      now += SECOND / 10;
      granted = members.split(20, claims);
      assertThat(Arrays.stream(granted).sum()).isEqualTo(20);
      for (int i = 0; i < 30; i++) {
        without[i] = granted[i] > 0 ? 0 : without[i] + 1;
        assertThat(without[i])
            .as("rounds of a tenth of the residence that member %d waits at round %d", i, round)
            .isLessThanOrEqualTo(20);
      }
    }
  }

  @Test
  void a_member_inside_its_residence_keeps_a_leftover_slot() {
    List<MemberClaim> claims =
        List.of(
            new MemberClaim(ClaimText.member("p1"), 5, 2, 2, 0, SECOND - 1),
            new MemberClaim(ClaimText.member("p2"), 5, 1, 1, 90 * SECOND, 90 * SECOND));

    assertThat(members.split(3, claims)).containsExactly(2, 1);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void random_members_converge_to_max_min_and_then_nothing_moves(long seed) {
    Random random = new Random(seed);
    for (int run = 0; run < 300; run++) {
      List<MemberClaim> claims = new ArrayList<>();
      int size = 1 + random.nextInt(12);
      for (int i = 0; i < size; i++) {
        int current = random.nextInt(2) == 0 ? 0 : random.nextInt(30);
        claims.add(claim(i, random.nextInt(30), current, random.nextInt(current + 1), 0));
      }
      int slots = random.nextInt(100);
      String as = "seed " + seed + " run " + run + ": " + slots + " over " + claims;
      List<MemberClaim> now = claims;
      int[] granted = new int[size];
      int demand = claims.stream().mapToInt(MemberClaim::demand).sum();
      for (int round = 0; round < 5; round++) {
        granted = members.split(slots, now);
        assertThat(Arrays.stream(granted).sum()).as(as).isLessThanOrEqualTo(slots);
        assertThat(Arrays.stream(granted).sum())
            .as(as)
            .isGreaterThanOrEqualTo(Math.min(slots, demand));
        int free = Math.max(0, slots - now.stream().mapToInt(MemberClaim::current).sum());
        assertThat(raised(now, granted)).as(as).isLessThanOrEqualTo(free + (slots + 3) / 4);
        now = after(now, granted);
      }
      assertThat(members.split(slots, now)).as(as).containsExactly(granted);
      assertMaxMin(as, slots, now, granted);
    }
  }

  @Test
  void the_order_of_members_changes_nothing() {
    Random random = new Random(77);
    for (int run = 0; run < 200; run++) {
      List<MemberClaim> claims = new ArrayList<>();
      for (int i = 0; i < 7; i++) {
        int current = random.nextInt(10);
        claims.add(claim(i, random.nextInt(12), current, current, random.nextLong(3 * SECOND)));
      }
      List<MemberClaim> shuffled = new ArrayList<>(claims);
      Collections.shuffle(shuffled, random);
      int[] straight = members.split(30, claims);
      int[] mixed = members.split(30, shuffled);
      for (int i = 0; i < 7; i++) {
        assertThat(mixed[i])
            .as("seed 77 run %d", run)
            .isEqualTo(straight[claims.indexOf(shuffled.get(i))]);
      }
    }
  }

  @Test
  void wrong_arguments_are_refused() {
    assertThatThrownBy(() -> members.split(-1, List.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("-1");
    assertThatThrownBy(() -> members.split(3, ClaimText.members("p1(1,0) p1(1,0)")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("member-p1");
  }

  /** Whoever has less than it wants has at most one slot less than anybody else has in use. */
  private static void assertMaxMin(String as, int slots, List<MemberClaim> claims, int[] granted) {
    for (int i = 0; i < granted.length; i++) {
      if (granted[i] < claims.get(i).demand()) {
        for (int j = 0; j < granted.length; j++) {
          assertThat(granted[j]).as(as).isLessThanOrEqualTo(granted[i] + 1);
        }
        assertThat(Arrays.stream(granted).sum()).as(as).isEqualTo(slots);
      }
    }
  }

  private static int raised(List<MemberClaim> claims, int[] granted) {
    return IntStream.range(0, granted.length)
        .map(i -> Math.max(0, granted[i] - claims.get(i).current()))
        .sum();
  }

  private static List<MemberClaim> after(List<MemberClaim> claims, int[] granted) {
    List<MemberClaim> next = new ArrayList<>();
    for (int i = 0; i < granted.length; i++) {
      MemberClaim claim = claims.get(i);
      next.add(
          new MemberClaim(
              claim.member(),
              claim.demand(),
              granted[i],
              Math.min(claim.kept(), granted[i]),
              0,
              granted[i] == 0 ? Long.MAX_VALUE : 0));
    }
    return next;
  }

  private static MemberClaim claim(int i, int demand, int current, int kept, long waited) {
    MemberId member = ClaimText.member(String.format("p%02d", i));
    return new MemberClaim(
        member, demand, current, kept, waited, current == 0 ? Long.MAX_VALUE : 0);
  }
}
