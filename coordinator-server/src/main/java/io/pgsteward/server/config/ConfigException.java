package io.pgsteward.server.config;

import java.util.List;
import java.util.stream.Collectors;

/** A configuration file that cannot be used. Carries every problem that was found, by line. */
public final class ConfigException extends Exception {

  private static final long serialVersionUID = 1L;

  private final transient List<ConfigProblem> problems;

  /** The message is one line for each problem. */
  ConfigException(String file, List<ConfigProblem> problems) {
    super(problems.stream().map(p -> p.in(file)).collect(Collectors.joining("\n")));
    this.problems = List.copyOf(problems);
  }

  /** All problems, ordered by line; never empty. */
  public List<ConfigProblem> problems() {
    return problems;
  }
}
