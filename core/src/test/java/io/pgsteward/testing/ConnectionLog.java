package io.pgsteward.testing;

/** What a server's log says about connections. */
final class ConnectionLog {
  /** {@code log_line_prefix} of the lines that are understood: epoch milliseconds and pid. */
  static final String LINE_PREFIX = "%n [%p] ";

  private ConnectionLog() {}
}
