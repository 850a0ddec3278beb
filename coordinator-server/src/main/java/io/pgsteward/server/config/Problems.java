package io.pgsteward.server.config;

import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Collects what is wrong in one file, so that it is said all at once and once. Used by one thread.
 */
final class Problems {

  private final Set<ConfigProblem> found = new LinkedHashSet<>();

  void add(int line, String path, String message) {
    found.add(new ConfigProblem(line, path, message));
  }

  boolean isEmpty() {
    return found.isEmpty();
  }

  int count() {
    return found.size();
  }

  List<ConfigProblem> byLine() {
    return found.stream().sorted(Comparator.comparingInt(ConfigProblem::line)).toList();
  }
}
