package io.pgsteward.server.http;

import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the body of a request as it arrives, so that a slow sender holds no thread. The web server
 * calls the methods one after the other; the deadline may pass between two of them.
 */
final class RequestBody implements ReadListener {

  private static final Logger LOG = LoggerFactory.getLogger("pgsteward");

  private static final int PIECE = 8 << 10;

  private final ServletInputStream in;
  private final CallLimits limits;
  private final LargeBodies.Part part;
  private final ByteArrayOutputStream received = new ByteArrayOutputStream();
  private final CompletableFuture<byte[]> whole = new CompletableFuture<>();

  private RequestBody(ServletInputStream in, CallLimits limits, LargeBodies.Part part) {
    this.in = in;
    this.limits = limits;
    this.part = part;
  }

  /**
   * The whole body. It fails with a {@link Refusal}: of status 413 as soon as the body is known to
   * be too large, of 429 if large bodies leave no room for it, of 408 if it has not come in time,
   * of 400 if it ends early.
   *
   * @param request on which asynchronous work has been started
   */
  static CompletableFuture<byte[]> read(
      HttpServletRequest request, CallLimits limits, LargeBodies large) {
    if (request.getContentLengthLong() > limits.bodyBytes()) {
      return CompletableFuture.failedFuture(tooLarge(limits.bodyBytes()));
    }
    try {
      ServletInputStream in = request.getInputStream();
      RequestBody body = new RequestBody(in, limits, large.new Part());
      in.setReadListener(body);
      return body.whole
          .orTimeout(limits.bodyTime().toMillis(), TimeUnit.MILLISECONDS)
          .whenComplete((bytes, failure) -> body.part.end())
          .exceptionally(
              failure -> {
                throw refusal(failure, request, limits);
              });
    } catch (IOException e) {
      return CompletableFuture.failedFuture(refusal(e, request, limits));
    }
  }

  @Override
  public void onDataAvailable() throws IOException {
    byte[] piece = new byte[PIECE];
    while (!whole.isDone() && in.isReady() && !in.isFinished()) {
      int read = in.read(piece);
      if (read > limits.bodyBytes() - received.size()) {
        whole.completeExceptionally(tooLarge(limits.bodyBytes()));
      } else if (read > 0 && part.grow((long) received.size() + read)) {
        received.write(piece, 0, read);
      } else if (read > 0) {
        whole.completeExceptionally(noRoom());
      }
    }
  }

  @Override
  public void onAllDataRead() {
    whole.complete(received.toByteArray());
  }

  @Override
  public void onError(Throwable failure) {
    whole.completeExceptionally(failure);
  }

  private static Refusal tooLarge(int largest) {
    return new Refusal(
        413, "too-large", "a request is at most " + largest + " bytes; this one is larger");
  }

  private static Refusal noRoom() {
    return new Refusal(
        429, "too-many-calls", "too many large requests arrive at once; try again later");
  }

  private static Refusal refusal(Throwable failure, HttpServletRequest request, CallLimits limits) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof Refusal refusal) {
      return refusal;
    }
    if (cause instanceof TimeoutException) {
      return new Refusal(
          408,
          "too-slow",
          "the request's body was not complete after " + limits.bodyTime().toMillis() + " ms");
    }
    LOG.debug(
        "{}: the request's body ended early: {}", request.getRemoteAddr(), String.valueOf(cause));
    return new Refusal(400, "bad-request", "the request's body ended early");
  }
}
