package io.pgsteward.server;

/** What the process says to its caller when it ends. */
enum ExitCode {
  /** It was stopped, or had only to print something. */
  STOPPED(0),
  /** It failed at run time: PostgreSQL refused it, or its port is taken. */
  FAILED(1),
  /** The command line or the configuration is wrong. */
  WRONG_CONFIG(2),
  /** Another coordinator leads on an instance. */
  ANOTHER_LEADS(3);

  private final int code;

  ExitCode(int code) {
    this.code = code;
  }

  int code() {
    return code;
  }
}
