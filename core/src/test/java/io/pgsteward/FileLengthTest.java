package io.pgsteward;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The source files of all modules are short enough to be read in one sitting. */
class FileLengthTest {

  private static final int MOST_LINES = 500;

  @Test
  void no_source_file_has_more_than_500_lines() throws IOException {
    List<Path> sources = sources();
    assertThat(sources)
        .as("source files of core, driver, server and examples")
        .hasSizeGreaterThan(100);
    List<String> tooLong = new ArrayList<>();
    for (Path source : sources) {
      int lines = Files.readAllLines(source).size();
      if (lines > MOST_LINES) {
        tooLong.add(source + " has " + lines + " lines");
      }
    }
    assertThat(tooLong).isEmpty();
  }

  private static List<Path> sources() throws IOException {
    Path root = Files.exists(Path.of("core")) ? Path.of(".") : Path.of("..");
    try (Stream<Path> files = Files.walk(root, 12)) {
      return files
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> file.toString().contains("/src/"))
          .toList();
    }
  }
}
