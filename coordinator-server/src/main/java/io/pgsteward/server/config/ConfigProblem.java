package io.pgsteward.server.config;

/**
 * One thing that is wrong in a configuration file. Immutable.
 *
 * @param line where, from 1; 0 when it concerns the file as a whole
 * @param path the key's path, such as {@code instances.main.margin}; empty for the file as a whole
 * @param message what is wrong and what would be right; no secret
 */
public record ConfigProblem(int line, String path, String message) {

  /** The problem as one line of text, beginning with the file's name. */
  public String in(String file) {
    return file
        + (line > 0 ? ":" + line : "")
        + ": "
        + (path.isEmpty() ? "" : path + ": ")
        + message;
  }
}
