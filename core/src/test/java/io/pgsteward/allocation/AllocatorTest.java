package io.pgsteward.allocation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AllocatorTest {

  private static final long SECOND = 1_000_000_000L;

  private final Allocator allocator = new Allocator(SECOND);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          100 | web(g30 d60) worker(g10 d90)         | 60, 40      | 0
          100 | web(g30 d100) worker(g10 d100)       | 60, 40      | 0
          101 | a(g30 d100) b(g10 d100)              | 61, 40      | 0
          100 | web(d60) worker(d90)                 | 50, 50      | 0
          10  | a(d10) b(d10) c(d10)                 | 4, 3, 3     | 0
          10  | a(d10 c3) b(d10 c3) c(d10 c4)        | 3, 3, 4     | 0
          100 | a(w1 d100) b(w3 d100)                | 25, 75      | 0
          10  | a(w1 d100) b(w3 d100)                | 2, 8        | 0
          100 | a(g40 w1 d100) b(w3 d100)            | 55, 45      | 0
          7   | a(w1 d100) b(w2 d100) c(w3 d100)     | 1, 2, 4     | 0
          8   | a(w1 d100) b(w2 d100) c(w3 d100)     | 1, 3, 4     | 0
          20  | a(m3 d50) b(m7 d50) c(d50)           | 3, 7, 10    | 0
          20  | a(m3 d50) b(m7 d50)                  | 3, 7        | 0
          12  | a(d2) b(d4) c(d10)                   | 2, 4, 6     | 0
          10  | a(g30 d4) b(d20)                     | 4, 6        | 0
          20  | web(g30 d60) worker(g10 d90)         | 10, 10      | 20
          20  | web(g30 w3 d60) worker(g10 w1 d90)   | 15, 5       | 20
          20  | web(g30 d0) worker(g10 d90)          | 0, 20       | 0
          40  | web(g30 d60) worker(g10 d90)         | 30, 10      | 0
          41  | web(g30 d60) worker(g10 d90)         | 31, 10      | 0
          0   | a(g4 d10) b(g2 d1)                   | 0, 0        | 5
          10  | a(m2 d5 c5)                          | 2           | 0
          10  | a(d0 c6) b(d3 c3)                    | 6, 3        | 0
          10  | a(d0 c6) b(d8 c3)                    | 2, 8        | 0
          10  | a(d0 c6 k4) b(d8 c3)                 | 2, 8        | 0
          6   | a(d0 c6) b(d0 c6)                    | 3, 3        | 0
          10  | a(m0 d5)                             | 0           | 0
          """)
  void the_budget_is_divided_as_the_table_says(
      int budget, String claims, String expected, int unmet) {
    Allocation allocation = allocator.allocate(budget, ClaimText.claims(claims));

    assertThat(allocation.slots()).as("%s", allocation).containsExactly(figures(expected));
    assertThat(allocation.totalUnmetGuarantee()).isEqualTo(unmet);
    assertThat(allocation.total()).isEqualTo(Arrays.stream(allocation.slots()).sum());
  }

  @Test
  void answers_are_found_in_claim_order_and_by_tenant() {
    Allocation allocation =
        allocator.allocate(20, ClaimText.claims("worker(g10 d90) web(g30 w3 d60)"));

    assertThat(allocation.slots()).containsExactly(5, 15);
    assertThat(allocation.unmetGuarantees()).containsExactly(5, 15);
    assertThat(allocation.slotsOf(ClaimText.tenant("web"))).isEqualTo(15);
    assertThat(allocation.unmetGuaranteeOf(ClaimText.tenant("worker"))).isEqualTo(5);
    assertThat(allocation.slotsOf(ClaimText.tenant("nobody"))).isZero();
    assertThat(allocation.unmetGuaranteeOf(ClaimText.tenant("nobody"))).isZero();
  }

  @Test
  void no_claims_get_no_slots() {
    assertThat(allocator.allocate(10, List.of()).slots()).isEmpty();
  }

  @Test
  void a_negative_budget_is_refused() {
    assertThatThrownBy(() -> allocator.allocate(-1, List.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("-1");
  }

  @Test
  void a_tenant_that_claims_twice_is_refused() {
    assertThatThrownBy(() -> allocator.allocate(9, ClaimText.claims("a(d1) b(d1) a(d2)")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("a@shop");
  }

  @Test
  void the_largest_weights_and_budgets_do_not_overflow() {
    int weight = TenantPolicy.LARGEST_WEIGHT;
    int budget = 262_143;
    Allocation allocation =
        allocator.allocate(
            budget, ClaimText.claims("a(w" + weight + " d2000000000) b(w1 d2000000000)"));

    assertThat(allocation.slots()).containsExactly(budget, 0);
  }

  @Nested
  class ties {

    @Test
    void a_slot_goes_to_whoever_has_waited_longest_past_the_residence() {
      assertThat(
              slots(
                  2,
                  claim("a", 9, 1, 0, 3 * SECOND),
                  claim("b", 9, 1, 0, 2 * SECOND),
                  claim("c", 9, 0, SECOND, Long.MAX_VALUE),
                  claim("d", 9, 0, 2 * SECOND, Long.MAX_VALUE)))
          .containsExactly(0, 0, 1, 1);
    }

    @Test
    void the_holder_whose_residence_began_last_keeps() {
      assertThat(
              slots(
                  2,
                  claim("a", 9, 1, 0, 2 * SECOND),
                  claim("b", 9, 1, 0, 3 * SECOND),
                  claim("c", 9, 0, SECOND, Long.MAX_VALUE)))
          .containsExactly(1, 0, 1);
    }

    @Test
    void a_holder_inside_its_residence_is_not_displaced_by_rotation() {
      assertThat(
              slots(
                  1,
                  claim("a", 9, 1, 0, SECOND - 1),
                  claim("b", 9, 0, 1000 * SECOND, Long.MAX_VALUE)))
          .containsExactly(1, 0);
    }

    @Test
    void a_wait_inside_the_residence_moves_nothing() {
      assertThat(
              slots(
                  1, claim("b", 9, 1, 0, 9 * SECOND), claim("a", 9, 0, SECOND - 1, Long.MAX_VALUE)))
          .containsExactly(1, 0);
    }

    @Test
    void the_nth_slot_of_a_tenant_moves_after_n_residences() {
      assertThat(
              slots(
                  7, claim("a", 9, 4, 0, 9 * SECOND), claim("b", 9, 3, 4 * SECOND - 1, 9 * SECOND)))
          .containsExactly(4, 3);
      assertThat(
              slots(7, claim("a", 9, 4, 0, 9 * SECOND), claim("b", 9, 3, 4 * SECOND, 9 * SECOND)))
          .containsExactly(3, 4);
    }

    @Test
    void a_connection_still_open_decides_before_the_key() {
      Claim a = new Claim(ClaimText.tenant("a"), TenantPolicy.DEFAULT, 9, 0, 0, 0, Long.MAX_VALUE);
      Claim b = new Claim(ClaimText.tenant("b"), TenantPolicy.DEFAULT, 9, 0, 1, 0, Long.MAX_VALUE);

      assertThat(slots(1, a, b)).containsExactly(0, 1);
    }

    private Claim claim(String name, int demand, int current, long waited, long resided) {
      return new Claim(
          ClaimText.tenant(name), TenantPolicy.DEFAULT, demand, current, current, waited, resided);
    }

    private int[] slots(int budget, Claim... claims) {
      return allocator.allocate(budget, List.of(claims)).slots();
    }
  }

  @Nested
  class rotation {

    @Test
    void thirty_thousand_tenants_on_a_hundred_slots_are_all_served_in_three_hundred_rounds() {
      Rounds rounds = new Rounds();
      int tenants = 30_000;
      for (int i = 0; i < tenants; i++) {
        rounds.add(
            TenantId.of(String.format("agent_%05d", i), "shop"), new TenantPolicy(0, 20, 1), 5);
      }
      int[] roundsServed = new int[tenants];

      for (int round = 0; round < 300; round++) {
        int[] slots = rounds.next(100, SECOND);
        assertThat(Arrays.stream(slots).sum()).as("round %d", round).isEqualTo(100);
        for (int i = 0; i < tenants; i++) {
          roundsServed[i] += slots[i];
        }
      }

      assertThat(roundsServed).containsOnly(1);
    }

    @Test
    void three_equal_tenants_on_two_slots_get_two_hundred_of_three_hundred_rounds_each() {
      assertThat(roundsServed(2, 300, SECOND, 1, 1, 1)).containsExactly(200, 200, 200);
    }

    @Test
    void rounds_more_often_than_the_residence_share_the_time_all_the_same() {
      assertThat(roundsServed(2, 3_000, SECOND / 10, 1, 1, 1)).containsExactly(2000, 2000, 2000);
    }

    @Test
    void a_light_tenant_beside_heavy_ones_is_served() {
      int[] served = roundsServed(2, 700, SECOND / 2, 1, 3, 3);

      // Fair would be 200, 600, 600 of 700 rounds: 2/7 and 6/7 of a slot's time.
      assertThat(served[0]).isBetween(140, 260);
      assertThat(served[1]).isBetween(540, 660);
      assertThat(served[2]).isBetween(540, 660);
    }

    @Test
    void a_light_tenant_that_got_its_slot_keeps_it_for_the_residence() {
      Rounds rounds = threeTenants(1, 3, 3);
      int runs = 0;
      int length = 0;
      for (int round = 0; round < 1000; round++) {
        boolean served = rounds.next(2, SECOND / 10)[0] > 0;
        if (!served && length > 0) {
          assertThat(length).as("rounds of a tenth of the residence").isBetween(10, 11);
          runs++;
        }
        length = served ? length + 1 : 0;
      }
      assertThat(runs).isGreaterThan(10);
    }

    @Test
    void shares_over_time_follow_the_weights_when_tenants_outnumber_the_slots() {
      Rounds rounds = new Rounds();
      int[] served = new int[300];
      for (int i = 0; i < 300; i++) {
        rounds.add(
            TenantId.of(String.format("t%03d", i), "shop"),
            new TenantPolicy(0, TenantPolicy.NO_MAX, 1 + i % 3),
            5);
      }
      for (int round = 0; round < 1200; round++) {
        int[] slots = rounds.next(10, SECOND);
        for (int i = 0; i < 300; i++) {
          served[i] += slots[i];
        }
      }
      // 12,000 slot rounds over weights that sum to 600: 20 for each unit of weight.
      for (int i = 0; i < 300; i++) {
        int fair = 20 * (1 + i % 3);
        assertThat(served[i])
            .as("tenant %d of weight %d", i, 1 + i % 3)
            .isBetween(fair / 2, fair * 2);
      }
    }

    @Test
    void guarantees_beyond_the_budget_rotate_too() {
      Rounds rounds = new Rounds();
      for (String name : List.of("a", "b", "c")) {
        rounds.add(ClaimText.tenant(name), new TenantPolicy(1, TenantPolicy.NO_MAX, 1), 3);
      }
      int[] served = new int[3];
      for (int round = 0; round < 300; round++) {
        int[] slots = rounds.next(2, SECOND);
        for (int i = 0; i < 3; i++) {
          served[i] += slots[i];
        }
      }
      assertThat(served).containsExactly(200, 200, 200);
    }

    @Test
    void a_tenant_without_guarantee_has_no_claim_while_floors_take_the_budget() {
      Rounds rounds = new Rounds();
      rounds.add(ClaimText.tenant("a"), new TenantPolicy(2, TenantPolicy.NO_MAX, 1), 5);
      rounds.add(ClaimText.tenant("b"), TenantPolicy.DEFAULT, 5);
      for (int round = 0; round < 50; round++) {
        assertThat(rounds.next(2, SECOND)).containsExactly(2, 0);
      }
    }

    private int[] roundsServed(int budget, int count, long nanos, int... weights) {
      Rounds rounds = threeTenants(weights);
      int[] served = new int[weights.length];
      for (int round = 0; round < count; round++) {
        int[] slots = rounds.next(budget, nanos);
        for (int i = 0; i < weights.length; i++) {
          served[i] += slots[i] > 0 ? 1 : 0;
        }
      }
      return served;
    }

    private Rounds threeTenants(int... weights) {
      Rounds rounds = new Rounds();
      for (int i = 0; i < weights.length; i++) {
        rounds.add(
            ClaimText.tenant("t" + i), new TenantPolicy(0, TenantPolicy.NO_MAX, weights[i]), 10);
      }
      return rounds;
    }
  }

  @Nested
  class random_claims {

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 5, 8, 13, 21, 34})
    void fit_the_budget_and_waste_nothing_and_keep_the_floors(long seed) {
      Random random = new Random(seed);
      for (int run = 0; run < 300; run++) {
        List<Claim> claims = claims(random, true);
        int budget = random.nextInt(60);
        Allocation allocation = allocator.allocate(budget, claims);
        int[] slots = allocation.slots();
        long floors = claims.stream().mapToLong(Claim::floor).sum();
        long ceilings = claims.stream().mapToLong(Claim::ceiling).sum();
        String as = "seed " + seed + " run " + run + ": " + budget + " " + claims;

        assertThat(allocation.total()).as(as).isLessThanOrEqualTo(budget);
        assertThat((long) allocation.total())
            .as(as)
            .isGreaterThanOrEqualTo(Math.min(budget, ceilings));
        assertThat(allocation.totalUnmetGuarantee()).as(as).isEqualTo(Math.max(0, floors - budget));
        for (int i = 0; i < slots.length; i++) {
          Claim claim = claims.get(i);
          assertThat(slots[i]).as(as).isLessThanOrEqualTo(Math.max(claim.ceiling(), claim.kept()));
          assertThat(slots[i]).as(as).isLessThanOrEqualTo(claim.policy().max());
          if (floors <= budget) {
            assertThat(slots[i]).as(as).isGreaterThanOrEqualTo(claim.floor());
          }
          if (ceilings >= budget) {
            assertThat(slots[i]).as(as).isLessThanOrEqualTo(claim.ceiling());
          }
        }
      }
    }

    @ParameterizedTest
    @ValueSource(longs = {4, 6, 7})
    void get_the_same_in_any_order(long seed) {
      Random random = new Random(seed);
      for (int run = 0; run < 300; run++) {
        List<Claim> claims = claims(random, true);
        List<Claim> shuffled = new ArrayList<>(claims);
        Collections.shuffle(shuffled, random);
        int budget = random.nextInt(60);
        Allocation straight = allocator.allocate(budget, claims);
        Allocation mixed = allocator.allocate(budget, shuffled);
        for (int i = 0; i < shuffled.size(); i++) {
          TenantId tenant = shuffled.get(i).tenant();
          assertThat(mixed.slots()[i])
              .as("seed %d run %d: %s of %d over %s", seed, run, tenant, budget, claims)
              .isEqualTo(straight.slotsOf(tenant));
        }
      }
    }

    @ParameterizedTest
    @ValueSource(longs = {9, 10, 11})
    void grow_with_the_budget_while_nobody_is_due(long seed) {
      Random random = new Random(seed);
      for (int run = 0; run < 200; run++) {
        List<Claim> claims = claims(random, false);
        int[] before = new int[claims.size()];
        for (int budget = 0; budget < 60; budget++) {
          int[] slots = allocator.allocate(budget, claims).slots();
          for (int i = 0; i < slots.length; i++) {
            assertThat(slots[i])
                .as("seed %d run %d: claim %d of %s at budget %d", seed, run, i, claims, budget)
                .isGreaterThanOrEqualTo(before[i]);
          }
          before = slots;
        }
      }
    }

    @ParameterizedTest
    @ValueSource(longs = {12, 14, 15})
    void are_left_alone_inside_the_residence_when_nothing_changed(long seed) {
      Random random = new Random(seed);
      for (int run = 0; run < 300; run++) {
        assertCalm("seed " + seed + " run " + run, random, claims(random, true), SECOND);
      }
    }

    @ParameterizedTest
    @ValueSource(longs = {22, 23, 24})
    void are_left_alone_for_ever_when_nobody_is_due(long seed) {
      Random random = new Random(seed);
      for (int run = 0; run < 300; run++) {
        List<Claim> settled =
            claims(random, false).stream()
                .map(c -> next(c, c.current(), 0, c.current() == 0 ? Long.MAX_VALUE : 9 * SECOND))
                .toList();
        assertCalm("seed " + seed + " run " + run, random, settled, 99 * SECOND);
      }
    }

    private void assertCalm(String as, Random random, List<Claim> claims, long longestResidence) {
      int budget = random.nextInt(60);
      int[] first = allocator.allocate(budget, claims).slots();
      List<Claim> again = new ArrayList<>();
      for (int i = 0; i < first.length; i++) {
        Claim claim = claims.get(i);
        boolean waits = claim.demand() > first[i];
        again.add(
            next(
                claim,
                first[i],
                waits ? random.nextLong(SECOND) : 0,
                first[i] > 0 ? random.nextLong(longestResidence) : Long.MAX_VALUE));
      }
      assertThat(allocator.allocate(budget, again).slots())
          .as("%s: %d over %s", as, budget, claims)
          .containsExactly(first);
    }

    private Claim next(Claim claim, int granted, long waited, long resided) {
      return new Claim(
          claim.tenant(),
          claim.policy(),
          claim.demand(),
          granted,
          Math.min(claim.kept(), granted),
          waited,
          resided);
    }

    @ParameterizedTest
    @ValueSource(longs = {16, 17, 18, 19, 20})
    void starve_nobody_above_the_floors(long seed) {
      Random random = new Random(seed);
      int size = 2 + random.nextInt(12);
      int budget = 1 + random.nextInt(size);
      Rounds rounds = new Rounds();
      long weights = 0;
      int[] weight = new int[size];
      for (int i = 0; i < size; i++) {
        weight[i] = 1 + random.nextInt(9);
        weights += weight[i];
        rounds.add(
            ClaimText.tenant("t" + (char) ('a' + i)),
            new TenantPolicy(0, TenantPolicy.NO_MAX, weight[i]),
            1 + random.nextInt(20));
      }
      int[] without = new int[size];
      for (int round = 0; round < 2000; round++) {
        int[] slots = rounds.next(budget, SECOND / 4);
        for (int i = 0; i < size; i++) {
          without[i] = slots[i] > 0 ? 0 : without[i] + 1;
          double residences = without[i] / 4.0;
          double due = Math.max(1, (double) weights / ((double) budget * weight[i]));
          assertThat(residences)
              .as("seed %d round %d: residences that tenant %d waits", seed, round, i)
              .isLessThanOrEqualTo(2 * due + size + 2);
        }
      }
    }

    private List<Claim> claims(Random random, boolean due) {
      List<Claim> claims = new ArrayList<>();
      int size = 1 + random.nextInt(9);
      for (int i = 0; i < size; i++) {
        int guarantee = random.nextInt(3) == 0 ? random.nextInt(12) : 0;
        int max = random.nextInt(3) == 0 ? guarantee + random.nextInt(10) : TenantPolicy.NO_MAX;
        int current = random.nextInt(3) == 0 ? 0 : random.nextInt(12);
        claims.add(
            new Claim(
                ClaimText.tenant("t" + i),
                new TenantPolicy(guarantee, max, 1 + random.nextInt(4)),
                random.nextInt(4) == 0 ? 0 : random.nextInt(25),
                current,
                random.nextInt(current + 1),
                random.nextLong(due ? 20 * SECOND : SECOND),
                current == 0 ? Long.MAX_VALUE : random.nextLong(3 * SECOND)));
      }
      return claims;
    }
  }

  static int[] figures(String text) {
    return Arrays.stream(text.split(",")).map(String::trim).mapToInt(Integer::parseInt).toArray();
  }
}
