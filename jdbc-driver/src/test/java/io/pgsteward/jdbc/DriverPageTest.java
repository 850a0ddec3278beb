package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The page of settings, docs/driver.md, and {@link Setting} say the same. */
class DriverPageTest {

  /** By name, the columns of each row of the table of settings. */
  private static Map<String, String[]> rows() throws IOException {
    Path page = Path.of("docs", "driver.md");
    if (!Files.exists(page)) {
      page = Path.of("..").resolve(page);
    }
    Map<String, String[]> rows = new LinkedHashMap<>();
    boolean inTable = false;
    for (String line : Files.readAllLines(page)) {
      inTable = line.startsWith("| setting |") || (inTable && line.startsWith("|"));
      if (inTable && line.startsWith("| `")) {
        String[] columns = line.split("\\|");
        rows.put(columns[1].replace("`", "").strip(), columns);
      }
    }
    return rows;
  }

  private static String column(Map<String, String[]> rows, Setting setting, int number) {
    String[] columns = rows.get(setting.parameter());
    assertThat(columns).as("row of %s", setting.parameter()).isNotNull();
    return Objects.requireNonNull(columns)[number].replace("`", "").strip();
  }

  @Test
  void every_setting_has_a_row_and_every_row_is_a_setting() throws IOException {
    assertThat(rows().keySet())
        .containsExactlyElementsOf(
            Arrays.stream(Setting.values()).map(Setting::parameter).toList());
  }

  @Test
  void every_default_is_the_one_in_force() throws IOException {
    Map<String, String[]> rows = rows();
    for (Setting setting : Setting.values()) {
      String shown = column(rows, setting, 4);
      if (setting.defaultValue() == null) {
        assertThat(shown).as(setting.parameter()).startsWith("none");
      } else {
        assertThat(setting.parse(shown)).as(setting.parameter()).isEqualTo(setting.defaultValue());
      }
    }
  }

  @Test
  void what_0_means_is_said_where_a_number_may_be_0() throws IOException {
    Map<String, String[]> rows = rows();
    for (Setting setting : Setting.values()) {
      boolean number =
          setting.kind() == Setting.Kind.COUNT || setting.kind() == Setting.Kind.DURATION;
      String shown = column(rows, setting, 5);
      assertThat(!shown.equals("-")).as(setting.parameter()).isEqualTo(number);
      if (number) {
        boolean refused = setting.problem(setting.parse("0")) != null;
        assertThat(shown.equals("refused")).as(setting.parameter()).isEqualTo(refused);
      }
    }
  }
}
