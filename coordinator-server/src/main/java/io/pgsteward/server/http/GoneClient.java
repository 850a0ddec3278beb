package io.pgsteward.server.http;

import jakarta.servlet.ServletRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.io.AbstractEndPoint;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * Notices that the caller of a parked request went away. The web server does not: over HTTP/1.1 it
 * reads nothing between a request and its answer, so neither end-of-file nor a reset reaches it.
 * This watch reads in its place while the request is parked, and must end before the answer is
 * written.
 *
 * <p>A caller that sends anything before it has its answer is disconnected: what was read here
 * cannot be given back. {@link #end} and the selector's notice exclude each other by Jetty's own
 * compare-and-set.
 */
final class GoneClient implements Callback {

  private final AbstractEndPoint connection;
  private final Runnable gone;

  private GoneClient(AbstractEndPoint connection, Runnable gone) {
    this.connection = connection;
    this.gone = gone;
  }

  /**
   * Starts to watch.
   *
   * @param gone runs once, on a thread of the web server, if the caller goes away before {@link
   *     #end}
   * @return null if the connection is of a kind that cannot be watched
   */
  static @Nullable GoneClient watch(ServletRequest request, Runnable gone) {
    EndPoint connection =
        ServletContextRequest.getServletContextRequest(request)
            .getConnectionMetaData()
            .getConnection()
            .getEndPoint();
    if (!(connection instanceof AbstractEndPoint watchable)) {
      return null;
    }
    GoneClient watch = new GoneClient(watchable, gone);
    return watchable.tryFillInterested(watch) ? watch : null;
  }

  /** Stops to watch; the connection is the web server's again. Idempotent. */
  void end() {
    connection.getFillInterest().onFail(new Ended());
  }

  /** The connection has something to read: its end, or bytes that nobody asked for. */
  @Override
  public void succeeded() {
    ByteBuffer buffer = BufferUtil.allocate(1);
    try {
      if (connection.fill(buffer) == 0) {
        connection.tryFillInterested(this);
        return;
      }
    } catch (IOException e) {
      // A reset: gone as well.
    }
    leave();
  }

  @Override
  public void failed(Throwable failure) {
    if (!(failure instanceof Ended)) {
      leave();
    }
  }

  private void leave() {
    connection.close();
    gone.run();
  }

  /** Tells our own end from a failure of the connection. */
  private static final class Ended extends Exception {
    private static final long serialVersionUID = 1L;

    Ended() {
      super("the watch ended", null, false, false);
    }
  }
}
