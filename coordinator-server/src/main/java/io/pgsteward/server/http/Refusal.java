package io.pgsteward.server.http;

import io.pgsteward.coordination.SyncRefusal;
import io.pgsteward.coordination.SyncRefusedException;
import io.pgsteward.protocol.ErrorResponse;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** An answer that is not a success: its status code and its body. Immutable. */
final class Refusal extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final int status;
  private final transient ErrorResponse body;

  Refusal(int status, String error, String message) {
    this(status, error, message, null, null);
  }

  private Refusal(
      int status,
      String error,
      String message,
      @Nullable String leader,
      @Nullable Throwable cause) {
    super(message, cause);
    this.status = status;
    this.body = new ErrorResponse(error, message, leader);
  }

  int status() {
    return status;
  }

  ErrorResponse body() {
    return body;
  }

  /** The answer to whatever went wrong; a failure that nobody foresaw is one of status 500. */
  static Refusal of(Throwable failure) {
    Throwable cause = failure;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof Refusal refusal) {
      return refusal;
    }
    if (cause instanceof SyncRefusedException refused) {
      return new Refusal(
          status(refused.reason()),
          refused.reason().code(),
          String.valueOf(refused.getMessage()),
          refused.leader(),
          refused);
    }
    if (cause instanceof TimeoutException) {
      return new Refusal(503, "busy", "the coordinator did not answer in time", null, cause);
    }
    return new Refusal(500, "internal", "the coordinator failed; its log says why", null, cause);
  }

  private static int status(SyncRefusal reason) {
    return switch (reason) {
      case BAD_REQUEST -> 400;
      case NOT_LEADING, CLOSING -> 503;
      case LEFT -> 410;
    };
  }
}
