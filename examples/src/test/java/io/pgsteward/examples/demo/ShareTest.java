package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ShareTest {

  @Test
  void what_is_above_the_guarantees_is_split_evenly() {
    assertThat(Share.ofBoth(100)).isEqualTo(new Share(60, 40, 0));
    assertThat(Share.ofBoth(98)).isEqualTo(new Share(59, 39, 0));
    assertThat(Share.ofWorkerAlone(100, 90)).isEqualTo(new Share(0, 90, 0));
    assertThat(Share.ofWorkerAlone(85, 90)).isEqualTo(new Share(0, 85, 0));
  }

  @Test
  void an_odd_slot_may_be_with_either_and_with_one_only() {
    Share share = Share.ofBoth(99);
    assertThat(share.is(60, 39)).isTrue();
    assertThat(share.is(59, 40)).isTrue();
    assertThat(share.is(60, 40)).isFalse();
    assertThat(share.is(59, 39)).isFalse();
    assertThat(share.is(61, 38)).isFalse();
    assertThat(share.is(58, 41)).isFalse();
  }

  @Test
  void is_exact() {
    Share share = Share.ofBoth(100);
    assertThat(share.is(60, 40)).isTrue();
    assertThat(share.is(61, 39)).isFalse();
    assertThat(share.isWithin(59, 40)).isTrue();
    assertThat(share.isWithin(61, 39)).isFalse();
  }
}
