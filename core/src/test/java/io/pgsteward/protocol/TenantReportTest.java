package io.pgsteward.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TenantReportTest {

  private static final int MOST = TenantReport.MOST;

  /** A report in which one figure, counted from 0, has this value. */
  private static TenantReport with(int figure, int value) {
    int[] of = new int[5];
    of[figure] = value;
    return new TenantReport("web@shop", of[0], of[1], 0, 0, of[2], of[3], of[4], List.of());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4})
  void no_figure_is_above_the_most_that_postgresql_can_have(int figure) {
    assertThat(with(figure, MOST).tenant()).isEqualTo("web@shop");
    assertThatThrownBy(() -> with(figure, MOST + 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("web@shop")
        .hasMessageContaining("262143");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4})
  void no_figure_is_negative(int figure) {
    assertThatThrownBy(() -> with(figure, -1))
        .hasMessageContaining("of web@shop may not be negative, but it is -1");
  }

  @Test
  void held_is_exact_with_every_part_at_its_most() {
    TenantReport report = new TenantReport("web@shop", 0, 0, 0, 0, MOST, MOST, MOST, List.of());
    assertThat(report.held()).isEqualTo(3 * MOST).isPositive();
  }
}
