package io.pgsteward.jdbc.internal.pool;

import io.pgsteward.model.Ticker;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

  /**
   * When a close by the borrower that has the connection under test must be over; 0: no borrower.
   */
  private volatile long closeBy;

  private final List<LingeringSocket> sockets = new ArrayList<>(1);
  private final Map<SocketAddress, Long> hostDeadlines = new HashMap<>(2);
  private volatile boolean opening = true;
  private volatile boolean abandoned;
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
    if (abandoned) {
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

  /**
   * A borrower's thread tests the connection and closes it if it is dead; that may not cost it more
   * than the time it has. What is not confirmed by then is looked for later.
   *
   * @param deadline 0 when the test has ended
   */
  void closeBy(long deadline) {
    closeBy = deadline;
  }

  long closeTimeoutNanos() {
    long by = closeBy;
    long own = by == 0 ? Long.MAX_VALUE : Math.max(0, by - ticker.nanos());
    return Math.min(closeTimeoutNanos, own);
  }

  Ticker ticker() {
    return ticker;
  }

  /**
   * Until when this host must have taken the login: its share of the time that is left, so that a
   * host that never answers leaves time for the others. A second socket to the same host, as after
   * a refused encryption, has the time of the first.
   */
  long deadlineFor(SocketAddress host) {
    synchronized (sockets) {
      Long known = hostDeadlines.get(host);
      if (known == null) {
        long now = ticker.nanos();
        long share = (deadline - now) / Math.max(1, hosts - hostDeadlines.size());
        known = now + share;
        hostDeadlines.put(host, known);
      }
      return known;
    }
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

  /** Whether every backend is known to have exited; false without sockets to judge by. */
  boolean gone() {
    List<LingeringSocket> all = all();
    return !all.isEmpty() && all.stream().allMatch(LingeringSocket::isGone);
  }

  /** Looks again, without waiting, whether the backends have exited meanwhile. */
  boolean goneNow() {
    all().forEach(LingeringSocket::lookAgain);
    return gone();
  }

  /** Whether nobody will ever learn whether the backends have exited. */
  boolean isAbandoned() {
    return abandoned;
  }

  /** Closes everything at once without waiting; used when the whole pool ends. */
  void abandon() {
    abandoned = true;
    for (LingeringSocket socket : all()) {
      socket.abandon();
    }
  }
}
