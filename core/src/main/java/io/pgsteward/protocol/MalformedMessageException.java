package io.pgsteward.protocol;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A message that is not JSON, or lacks a field it must have. The message names what is wrong. */
public final class MalformedMessageException extends IOException {

  public MalformedMessageException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
