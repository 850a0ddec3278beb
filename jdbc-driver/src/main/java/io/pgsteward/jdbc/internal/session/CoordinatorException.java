package io.pgsteward.jdbc.internal.session;

import org.jspecify.annotations.Nullable;

/** The coordinator is not usable now. The message says who was asked and what came back. */
final class CoordinatorException extends Exception {

  private static final long serialVersionUID = 1L;

  /** What stands in the way. */
  enum Kind {
    /** We ended the call ourselves; says nothing about the coordinator. */
    CANCELLED,
    /** No answer: refused, reset, timed out, unknown host. */
    UNREACHABLE,
    /** It answers, and does not lead. */
    NOT_LEADING,
    /** It does not accept our token. */
    UNAUTHORIZED,
    /** It refuses what we sent, and would refuse it again. */
    REJECTED,
    /** It failed, or what it sent is no answer. */
    UNUSABLE
  }

  private final Kind kind;
  private final boolean nextAtOnce;

  /**
   * @param nextAtOnce whether another address, not yet tried since the last answer, comes next: it
   *     is tried without a pause
   */
  CoordinatorException(Kind kind, String message, boolean nextAtOnce, @Nullable Throwable cause) {
    super(message, cause);
    this.kind = kind;
    this.nextAtOnce = nextAtOnce;
  }

  Kind kind() {
    return kind;
  }

  boolean nextAtOnce() {
    return nextAtOnce;
  }

  String text() {
    String message = getMessage();
    return message == null ? kind.toString() : message;
  }
}
