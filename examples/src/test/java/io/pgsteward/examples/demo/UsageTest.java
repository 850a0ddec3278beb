package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class UsageTest {

  @Test
  void a_line_is_read_as_it_was_written() {
    Usage usage = new Usage(1, 2, 3, 4, 5, 6, 7, 8, "17:3,40:1");
    assertThat(Usage.isUsage(usage.line())).isTrue();
    assertThat(Usage.read(usage.line())).isEqualTo(usage);
    assertThat(Usage.read(Usage.NONE.line())).isEqualTo(Usage.NONE);
  }
}
