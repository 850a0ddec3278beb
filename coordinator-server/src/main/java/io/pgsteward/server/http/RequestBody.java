package io.pgsteward.server.http;

import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;

/** Reads request bodies that may not be larger than a cap. */
final class RequestBody {

  /** Room for a member with some ten thousand active tenants. */
  static final int LARGEST = 4 << 20;

  /** How much of a body that is too large is read, so that its sender hears why. */
  private static final long LARGEST_DISCARDED = 64L << 20;

  private RequestBody() {}

  /**
   * The whole body.
   *
   * @throws Refusal with status 413 if it is larger than {@link #LARGEST}
   */
  static byte[] read(Context context) throws IOException {
    InputStream in = context.req().getInputStream();
    byte[] body = in.readNBytes(LARGEST);
    if (body.length < LARGEST || in.read() < 0) {
      return body;
    }
    discard(in);
    throw new Refusal(
        413, "too-large", "a request is at most " + (LARGEST >> 20) + " MiB; this one was larger");
  }

  private static void discard(InputStream in) throws IOException {
    byte[] buffer = new byte[64 << 10];
    long left = LARGEST_DISCARDED;
    int read = in.read(buffer);
    while (read >= 0 && left > 0) {
      left -= read;
      read = in.read(buffer);
    }
  }
}
