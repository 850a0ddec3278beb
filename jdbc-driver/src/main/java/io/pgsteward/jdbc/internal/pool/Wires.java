package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.model.Ticker;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The sockets of one attempt to open a connection, and later of that connection: usually one, more
 * when several hosts were tried. They know three things that JDBC does not tell: the moment when
 * anybody closes the connection, by whatever way; whether its backend has exited; and how to end an
 * opening at its deadline.
 *
 * <p>Thread-safe; its lock guards the list and the listener and is never held during I/O or a call
 * to the listener.
 */
final class Wires {

  /** Hears of the end of the connection. */
  interface Listener {

    /** Somebody has begun to close the connection's socket. Called once, before any waiting. */
    void closing();

    /** The socket's close has returned. */
    void closed();
  }

  private static final ThreadLocal<@Nullable Wires> ATTEMPT = new ThreadLocal<>();

  private final Ticker ticker;
  private final long deadline;
  private final int hosts;
  private final long closeTimeoutNanos;
  private final List<LingeringSocket> sockets = new ArrayList<>(1);
  private volatile boolean opening = true;
  private volatile boolean aborted;
  private @Nullable Listener listener;

  Wires(Ticker ticker, long deadline, int hosts, long closeTimeoutNanos) {
    this.ticker = ticker;
    this.deadline = deadline;
    this.hosts = hosts;
    this.closeTimeoutNanos = closeTimeoutNanos;
  }

  /**
   * Makes the socket factories that pgjdbc instantiates on this thread belong to this attempt.
   * pgjdbc makes them from a class name, so there is no other way to hand them an object.
   */
  void enter() {
    ATTEMPT.set(this);
  }

  void exit() {
    ATTEMPT.remove();
  }

  /** The attempt that the calling thread is in, or null. */
  static @Nullable Wires current() {
    return ATTEMPT.get();
  }

  /** A socket that pgjdbc asked for; after the opening they are for cancel requests and pass. */
  Socket attach(Socket plain) throws IOException {
    if (!opening) {
      return plain;
    }
    LingeringSocket socket = new LingeringSocket(plain, this);
    synchronized (sockets) {
      sockets.add(socket);
    }
    if (aborted) {
      socket.abandon();
      throw new IOException("the pool was closed while a connection was being opened");
    }
    return socket;
  }

  /** The opening has succeeded; from now on the listener hears of the end. */
  void opened(Listener heard) {
    opening = false;
    boolean alreadyClosed;
    synchronized (sockets) {
      listener = heard;
      for (LingeringSocket socket : sockets) {
        socket.openingEnded();
      }
      alreadyClosed = !sockets.isEmpty() && sockets.stream().allMatch(LingeringSocket::isClosing);
    }
    if (alreadyClosed) {
      heard.closing();
    }
  }

  boolean isOpening() {
    return opening;
  }

  long closeTimeoutNanos() {
    return closeTimeoutNanos;
  }

  Ticker ticker() {
    return ticker;
  }

  /** Nanoseconds until the opening must have ended; 0 or less when it is over. */
  long nanosLeft() {
    return deadline - ticker.nanos();
  }

  /** Milliseconds that one more host may take to accept: its share of what is left; 0 when over. */
  int connectMillis() {
    int tried;
    synchronized (sockets) {
      tried = sockets.size();
    }
    long share = nanosLeft() / Math.max(1, hosts - tried + 1);
    return (int) Math.min(Integer.MAX_VALUE, Math.max(0, TimeUnit.NANOSECONDS.toMillis(share)));
  }

  void socketClosing() {
    Listener heard = heard();
    if (heard != null) {
      heard.closing();
    }
  }

  void socketClosed() {
    Listener heard = heard();
    if (heard != null) {
      heard.closed();
    }
  }

  private @Nullable Listener heard() {
    synchronized (sockets) {
      return listener;
    }
  }

  private List<LingeringSocket> all() {
    synchronized (sockets) {
      return List.copyOf(sockets);
    }
  }

  /** Whether there are sockets to judge by. A driver other than pgjdbc has none. */
  boolean isEmpty() {
    synchronized (sockets) {
      return sockets.isEmpty();
    }
  }

  /** Closes what is not closed yet, waiting for the backends to exit up to the close timeout. */
  void close() {
    for (LingeringSocket socket : all()) {
      socket.close();
    }
  }

  /** Whether every backend is known to have exited. */
  boolean gone() {
    return all().stream().allMatch(LingeringSocket::isGone);
  }

  /** Looks again, without waiting, whether the backends have exited meanwhile. */
  boolean goneNow() {
    boolean gone = true;
    for (LingeringSocket socket : all()) {
      gone &= socket.lookAgain();
    }
    return gone;
  }

  /** Closes everything at once without waiting; used when the whole pool ends. */
  void abandon() {
    aborted = true;
    for (LingeringSocket socket : all()) {
      socket.abandon();
    }
  }
}
