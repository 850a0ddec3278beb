package io.pgsteward.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy on the loopback address that passes bytes on, or makes one fault at a time. Put it
 * before PostgreSQL or before a coordinator. Thread-safe; its threads are daemons.
 *
 * <p>The present fault is guarded by {@code this}; whoever waits for another one waits on {@code
 * this}. No I/O is done under the lock.
 */
public final class FaultProxy implements AutoCloseable {

  /** What the proxy does to every connection, old and new. */
  public enum Fault {
    /** Nothing: bytes go through. */
    PASS,
    /** Each piece goes through later; see {@link FaultProxy#delay}. */
    DELAY,
    /** Connections are accepted, and bytes wait in the proxy until it passes again. */
    STALL,
    /** Bytes are read and thrown away, so a connection half exists; what lost bytes stays so. */
    DROP,
    /** Connections are ended in order (FIN), new ones as soon as they are accepted. */
    CUT,
    /** Connections are reset (RST), new ones as soon as they are accepted. */
    RESET,
    /** Nobody listens: new connections are refused. Old ones go on. */
    REFUSE
  }

  private final InetSocketAddress target;
  private final int port;
  private final Set<Link> links = ConcurrentHashMap.newKeySet();
  private final AtomicInteger accepted = new AtomicInteger();
  private Fault fault = Fault.PASS;
  private long delayNanos;
  private boolean closed;
  private @Nullable ServerSocket listener;
  private volatile @Nullable Thread acceptor;

  private FaultProxy(InetSocketAddress target, ServerSocket listener) {
    this.target = target;
    this.port = listener.getLocalPort();
    this.listener = listener;
  }

  /** Starts a proxy that passes everything on. */
  public static FaultProxy before(String host, int port) {
    try {
      FaultProxy proxy = new FaultProxy(new InetSocketAddress(host, port), listen(0));
      proxy.acceptFrom(proxy.listener());
      return proxy;
    } catch (IOException e) {
      throw new UncheckedIOException("the fault proxy cannot listen", e);
    }
  }

  /** Starts a proxy before a PostgreSQL. */
  public static FaultProxy before(PostgresServer server) {
    return before(server.host(), server.port());
  }

  /** Where it listens, on 127.0.0.1. The same for its whole life. */
  public int port() {
    return port;
  }

  /** How many connections it has accepted. */
  public int accepted() {
    return accepted.get();
  }

  /** How many connections go through it now. */
  public int open() {
    return links.size();
  }

  /** Ends every fault. Bytes that were stalled go through. */
  public void pass() {
    become(Fault.PASS, Duration.ZERO);
  }

  /** Holds each piece back for a while, in each direction. */
  public void delay(Duration delay) {
    become(Fault.DELAY, delay);
  }

  public void stall() {
    become(Fault.STALL, Duration.ZERO);
  }

  public void drop() {
    become(Fault.DROP, Duration.ZERO);
  }

  public void cut() {
    become(Fault.CUT, Duration.ZERO);
  }

  public void reset() {
    become(Fault.RESET, Duration.ZERO);
  }

  public void refuse() {
    become(Fault.REFUSE, Duration.ZERO);
  }

  private void become(Fault next, Duration delay) {
    ServerSocket unused = null;
    ServerSocket fresh = null;
    synchronized (this) {
      if (closed) {
        throw new IllegalStateException("the fault proxy is closed");
      }
      fault = next;
      delayNanos = delay.toNanos();
      if (next == Fault.REFUSE) {
        unused = listener;
        listener = null;
      } else if (listener == null) {
        fresh = listenAgain();
        listener = fresh;
      }
      notifyAll();
    }
    if (unused != null) {
      stopAccepting(unused);
    }
    if (fresh != null) {
      acceptFrom(fresh);
    }
    if (next == Fault.CUT || next == Fault.RESET) {
      List.copyOf(links).forEach(link -> link.end(next == Fault.RESET));
    }
  }

  private ServerSocket listenAgain() {
    try {
      return listen(port);
    } catch (IOException e) {
      throw new UncheckedIOException("port " + port + " was taken while it was refused", e);
    }
  }

  private static ServerSocket listen(int port) throws IOException {
    ServerSocket socket = new ServerSocket();
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1024);
    return socket;
  }

  private synchronized ServerSocket listener() {
    if (listener == null) {
      throw new IllegalStateException("the fault proxy refuses connections");
    }
    return listener;
  }

  private synchronized Fault fault() {
    return fault;
  }

  private void acceptFrom(ServerSocket socket) {
    acceptor = daemon("accept", () -> accept(socket));
  }

  /**
   * The kernel goes on accepting until the thread in accept() has seen that its socket is closed.
   */
  private void stopAccepting(ServerSocket socket) {
    closeQuietly(socket);
    Thread accepting = acceptor;
    if (accepting != null) {
      try {
        accepting.join(TimeUnit.SECONDS.toMillis(5));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void accept(ServerSocket socket) {
    while (true) {
      Socket near;
      try {
        near = socket.accept();
      } catch (IOException noLongerListening) {
        return;
      }
      accepted.incrementAndGet();
      Link link = new Link(near);
      links.add(link);
      Fault now = fault();
      if (now == Fault.CUT || now == Fault.RESET) {
        link.end(now == Fault.RESET);
      } else {
        daemon("connect", link::run);
      }
    }
  }

  /** Waits until bytes may go on; says whether they may, or are to be thrown away. */
  private synchronized boolean mayGoOn() throws InterruptedException {
    long since = System.nanoTime();
    while (!closed) {
      switch (fault) {
        case PASS, REFUSE, CUT, RESET -> {
          return true;
        }
        case DROP -> {
          return false;
        }
        case DELAY -> {
          long left = delayNanos - (System.nanoTime() - since);
          if (left <= 0) {
            return true;
          }
          TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        case STALL -> wait();
      }
    }
    return false;
  }

  /** Ends all connections and stops to listen. Idempotent. */
  @Override
  public void close() {
    ServerSocket unused;
    synchronized (this) {
      closed = true;
      unused = listener;
      listener = null;
      notifyAll();
    }
    if (unused != null) {
      closeQuietly(unused);
    }
    List.copyOf(links).forEach(link -> link.end(false));
  }

  private static Thread daemon(String what, Runnable work) {
    Thread thread = new Thread(work, "fault-proxy-" + what);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static void closeQuietly(AutoCloseable socket) {
    try {
      socket.close();
    } catch (Exception alreadyGone) {
      // A socket that is broken is as good as closed.
    }
  }

  /** One connection through the proxy. */
  private final class Link {
    private final Socket near;
    private final Socket far = new Socket();
    private volatile boolean lostBytes;

    Link(Socket near) {
      this.near = near;
    }

    void run() {
      try {
        near.setTcpNoDelay(true);
        if (mayGoOn()) {
          far.connect(target, 5_000);
          far.setTcpNoDelay(true);
        } else {
          lostBytes = true;
          swallow();
          return;
        }
        daemon("back", () -> pump(far, near));
        pump(near, far);
      } catch (IOException | InterruptedException e) {
        end(false);
      }
    }

    private void swallow() throws IOException {
      InputStream in = near.getInputStream();
      byte[] buffer = new byte[8192];
      while (in.read(buffer) >= 0) {
        // Thrown away.
      }
      end(false);
    }

    private void pump(Socket from, Socket to) {
      byte[] buffer = new byte[16384];
      try {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
          if (mayGoOn() && !lostBytes) {
            out.write(buffer, 0, n);
          } else {
            lostBytes = true;
          }
        }
        if (!mayGoOn() || lostBytes) {
          // The end is lost like every other message: the other side never hears of it.
          return;
        }
        to.shutdownOutput();
        if (from.isOutputShutdown()) {
          end(false);
        }
      } catch (IOException | InterruptedException e) {
        end(false);
      }
    }

    void end(boolean reset) {
      try {
        if (reset) {
          near.setSoLinger(true, 0);
          far.setSoLinger(true, 0);
        }
      } catch (IOException alreadyGone) {
        // Then there is nothing to reset.
      }
      closeQuietly(near);
      closeQuietly(far);
      links.remove(this);
    }
  }
}
