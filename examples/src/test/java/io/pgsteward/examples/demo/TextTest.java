package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TextTest {

  @Test
  void lines_are_at_most_100_wide_and_end_with_a_word() {
    String text = "twelve chars ".repeat(40).strip();
    String wrapped = Text.wrapped("   ", text);
    assertThat(wrapped.lines())
        .allSatisfy(line -> assertThat(line).startsWith("   ").hasSizeLessThanOrEqualTo(100))
        .noneMatch(line -> line.endsWith(" "));
    assertThat(wrapped.replaceAll("\\s+", " ").strip()).isEqualTo(text);
  }
}
