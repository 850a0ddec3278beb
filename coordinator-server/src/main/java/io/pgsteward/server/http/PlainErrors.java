package io.pgsteward.server.http;

import io.pgsteward.protocol.ErrorResponse;
import io.pgsteward.protocol.Json;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * Gives the errors that the web server finds itself, such as a malformed header, the same shape as
 * all others. Stateless.
 */
final class PlainErrors extends ErrorHandler {

  @Override
  protected void generateResponse(
      Request request,
      Response response,
      int code,
      @Nullable String message,
      @Nullable Throwable cause,
      Callback callback) {
    response.getHeaders().put(new HttpField(HttpHeader.CONTENT_TYPE, "application/json"));
    response.write(true, ByteBuffer.wrap(body(code, message)), callback);
  }

  private static byte[] body(int code, @Nullable String message) {
    String said = message == null ? "the web server answered " + code : message;
    return Json.write(new ErrorResponse("http-" + code, said, null));
  }
}
