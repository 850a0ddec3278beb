package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ExitCodeTest {

  @ParameterizedTest
  @ValueSource(
      strings = {"serve", "check", "plan", "apply", "release", "setup-sql", "show", "explain", ""})
  void every_help_has_the_table(String command) {
    CommandRun run = command.isEmpty() ? CommandRun.of("--help") : CommandRun.of(command, "--help");

    assertThat(run.code()).isZero();
    String unbroken = run.out().replaceAll("\\s+", " ");
    for (ExitCode code : ExitCode.values()) {
      assertThat(unbroken).contains(" " + code.code() + " " + code.meaning());
    }
  }

  @Test
  void the_documentation_has_the_same_table() throws Exception {
    List<String> rows = new ArrayList<>();
    for (ExitCode code : ExitCode.values()) {
      rows.add("| " + code.code() + " | " + code.meaning() + " |");
    }
    assertThat(Files.readAllLines(Path.of("..", "docs", "operations.md")))
        .containsSubsequence(rows);
  }

  @ParameterizedTest
  @EnumSource
  void of_several_instances_a_failure_goes_first_and_all_well_last(ExitCode code) {
    assertThat(code.and(ExitCode.OK)).isEqualTo(code);
    assertThat(ExitCode.OK.and(code)).isEqualTo(code);
    assertThat(code.and(ExitCode.FAILED)).isEqualTo(ExitCode.FAILED);
    assertThat(ExitCode.WOULD_CHANGE.and(ExitCode.ANOTHER_LEADS)).isEqualTo(ExitCode.ANOTHER_LEADS);
  }
}
