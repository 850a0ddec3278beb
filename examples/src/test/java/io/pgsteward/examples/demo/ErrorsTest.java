package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ErrorsTest {

  @Test
  void texts_that_differ_in_numbers_only_are_one_cause() {
    Errors errors = new Errors();
    assertThat(errors.add(1, "no connection within 30000 ms [waiting=4]")).isTrue();
    assertThat(errors.add(20, "no connection within 30001 ms\n [waiting=17]")).isFalse();
    assertThat(errors.add(1, "connection refused")).isTrue();
    assertThat(errors.drain())
        .containsExactly(
            new Errors.Seen(21, "no connection within 30000 ms [waiting=4]"),
            new Errors.Seen(1, "connection refused"));
    assertThat(errors.drain()).isEmpty();
  }
}
