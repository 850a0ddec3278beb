package io.pgsteward.server;

import org.jspecify.annotations.Nullable;

/** A command cannot do what it was asked for. The message is one sentence for the operator. */
final class CommandException extends Exception {

  private static final long serialVersionUID = 1L;

  private final ExitCode exitCode;

  CommandException(ExitCode exitCode, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  ExitCode exitCode() {
    return exitCode;
  }
}
