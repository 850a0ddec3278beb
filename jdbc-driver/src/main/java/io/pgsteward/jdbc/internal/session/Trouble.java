package io.pgsteward.jdbc.internal.session;

import org.jspecify.annotations.Nullable;

/**
 * Why the coordinator is not usable. Immutable.
 *
 * @param since when it began, whatever its first reason was
 */
record Trouble(CoordinatorException.Kind kind, String text, Moment since) {

  static Trouble after(@Nullable Trouble before, CoordinatorException cause, Moment now) {
    return new Trouble(cause.kind(), cause.text(), before == null ? now : before.since);
  }
}
