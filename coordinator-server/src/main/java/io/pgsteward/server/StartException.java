package io.pgsteward.server;

import org.jspecify.annotations.Nullable;

/** The coordinator cannot start. The message has a line for each reason, key first. */
final class StartException extends Exception {

  private static final long serialVersionUID = 1L;

  private final ExitCode exitCode;

  StartException(ExitCode exitCode, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  ExitCode exitCode() {
    return exitCode;
  }
}
