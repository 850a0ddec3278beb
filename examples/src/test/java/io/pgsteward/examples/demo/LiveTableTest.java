package io.pgsteward.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LiveTableTest {

  @ParameterizedTest
  @CsvSource({"-1, -", "400, 0.4", "9949, 9.9", "9950, 10", "1234567, 1235", "12345678, 12s"})
  void a_wait_fits_into_four_characters(long micros, String shown) {
    assertThat(LiveTable.millis(micros)).isEqualTo(shown).hasSizeLessThanOrEqualTo(4);
  }
}
