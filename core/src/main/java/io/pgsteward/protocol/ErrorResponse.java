package io.pgsteward.protocol;

import org.jspecify.annotations.Nullable;

/**
 * Every answer of the coordinator that is not a success has this body. Immutable.
 *
 * @param error a stable code for programs, such as {@code unknown-instance}
 * @param message one sentence for people
 * @param leader address of the coordinator to ask instead, or null
 */
public record ErrorResponse(String error, String message, @Nullable String leader) {

  @SuppressWarnings("NullAway") // JSON leaves fields out
  public ErrorResponse {
    error = error == null ? "unknown" : error;
    message = message == null ? "" : message;
  }
}
