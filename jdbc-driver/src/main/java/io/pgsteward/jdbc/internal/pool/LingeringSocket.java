package io.pgsteward.jdbc.internal.pool;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A socket around another one whose {@link #close} shuts its output and reads until the other end
 * closes too, for at most the close timeout. A backend leaves its socket open until its process
 * ends, so end-of-file means that its place is free. While a connection is being opened, no read
 * lasts beyond the opening's deadline.
 *
 * <p>What close finds:
 *
 * <ul>
 *   <li>end-of-file or a reset: the backend is gone;
 *   <li>nothing within the timeout: not known; the socket stays half open, so that {@link
 *       #lookAgain} can see the end-of-file later;
 *   <li>another thread reads at this moment (an abort): that thread must be freed, which only a
 *       real close does, and then nothing more can be seen: not known.
 * </ul>
 *
 * <p>Thread-safe as sockets are: several threads may close, one reads and one writes.
 */
@SuppressWarnings("UnsynchronizedOverridesSynchronized") // the other socket locks for itself
final class LingeringSocket extends Socket {

  private static final int PROBE_MILLIS = 1;
  private static final String DEADLINE_PASSED =
      "PostgreSQL did not answer before the connect timeout was over";

  private final Socket plain;
  private final Wires wires;
  private final AtomicBoolean closing = new AtomicBoolean();
  private final AtomicInteger readers = new AtomicInteger();
  private volatile boolean gone;
  private volatile int soTimeout;
  private volatile long deadline;

  LingeringSocket(Socket plain, Wires wires) throws SocketException {
    super((SocketImpl) null);
    this.plain = plain;
    this.wires = wires;
  }

  @Override
  public void close() {
    if (!closing.compareAndSet(false, true)) {
      return;
    }
    wires.socketClosing();
    try {
      gone = linger();
    } finally {
      wires.socketClosed();
    }
  }

  private boolean linger() {
    if (!plain.isConnected()) {
      closePlain();
      return true;
    }
    if (readers.get() > 0 || plain.isClosed()) {
      closePlain();
      return false;
    }
    try {
      plain.shutdownOutput();
    } catch (IOException e) {
      // The other end has reset the connection, or TLS has shut the output: reading tells which.
    }
    long wait = wires.closeTimeoutNanos();
    if (wires.isOpening()) {
      // A host that has used up its time may not take that of the next one as well.
      wait = Math.min(wait, Math.max(0, deadline - wires.ticker().nanos()));
    }
    if (readToEnd(wait)) {
      closePlain();
      return true;
    }
    return false;
  }

  /** Whether the other end closed within that time. */
  private boolean readToEnd(long nanos) {
    long deadline = wires.ticker().nanos() + nanos;
    byte[] unwanted = new byte[4096];
    try {
      InputStream in = plain.getInputStream();
      while (true) {
        long millis = TimeUnit.NANOSECONDS.toMillis(deadline - wires.ticker().nanos());
        plain.setSoTimeout((int) Math.max(PROBE_MILLIS, millis));
        if (in.read(unwanted) < 0) {
          return true;
        }
        if (deadline - wires.ticker().nanos() <= 0) {
          return false;
        }
      }
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException e) {
      return !plain.isClosed() && saysThatTheOtherEndIsGone(e);
    }
  }

  /**
   * After a reset, or after an end that TLS has read already, PostgreSQL's end no longer exists.
   * Anything else, such as a route that is lost or our own close by {@link #abandon}, says nothing
   * about the backend. These two texts are the JDK's own; those of the operating system come in the
   * language of the machine.
   */
  static boolean saysThatTheOtherEndIsGone(IOException e) {
    String message = String.valueOf(e.getMessage());
    return message.equals("Connection reset") || message.equals("Socket input is shutdown");
  }

  private void closePlain() {
    try {
      plain.close();
    } catch (IOException e) {
      // The descriptor is released all the same; there is nobody to tell.
    }
  }

  boolean isClosing() {
    return closing.get();
  }

  boolean isGone() {
    return gone;
  }

  /** After {@link #close}: looks whether the backend has exited by now. Waits a millisecond. */
  void lookAgain() {
    if (!gone && closing.get() && !plain.isClosed() && readToEnd(0)) {
      gone = true;
      closePlain();
    }
  }

  /** Closes at once, waits for nothing and learns nothing. */
  void abandon() {
    closePlain();
  }

  void openingEnded() {
    try {
      if (!plain.isClosed()) {
        plain.setSoTimeout(soTimeout);
      }
    } catch (SocketException e) {
      // The connection is broken; its next use says so.
    }
  }

  @Override
  public void connect(SocketAddress endpoint, int timeout) throws IOException {
    deadline = wires.deadlineFor(endpoint);
    int left = millisLeft();
    if (left <= 0) {
      throw new SocketTimeoutException(DEADLINE_PASSED);
    }
    plain.connect(endpoint, timeout > 0 ? Math.min(timeout, left) : left);
  }

  @Override
  public void connect(SocketAddress endpoint) throws IOException {
    connect(endpoint, 0);
  }

  @Override
  public InputStream getInputStream() throws IOException {
    return new Input(plain.getInputStream());
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    return new Output(plain.getOutputStream());
  }

  private int millisLeft() {
    long left = TimeUnit.NANOSECONDS.toMillis(deadline - wires.ticker().nanos());
    return (int) Math.max(0, Math.min(Integer.MAX_VALUE, left));
  }

  /** Reads with the opening's deadline in force, and says when a thread is inside. */
  private final class Input extends FilterInputStream {

    Input(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      readers.incrementAndGet();
      try {
        if (closing.get()) {
          throw new SocketException("Socket closed");
        }
        return wires.isOpening()
            ? readBefore(bytes, offset, length)
            : in.read(bytes, offset, length);
      } finally {
        readers.decrementAndGet();
      }
    }

    private int readBefore(byte[] bytes, int offset, int length) throws IOException {
      int left = millisLeft();
      int wanted = soTimeout;
      boolean ours = wanted == 0 || left < wanted;
      if (left <= 0) {
        throw new IOException(DEADLINE_PASSED);
      }
      plain.setSoTimeout(ours ? left : wanted);
      try {
        return in.read(bytes, offset, length);
      } catch (SocketTimeoutException e) {
        if (ours) {
          // Not a SocketTimeoutException: pgjdbc takes those as a reason to read on.
          throw new IOException(DEADLINE_PASSED);
        }
        throw e;
      }
    }

    @Override
    public void close() {
      LingeringSocket.this.close();
    }
  }

  /** Passes arrays through whole, and closes the socket with the wait. */
  private final class Output extends FilterOutputStream {

    Output(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      LingeringSocket.this.close();
    }
  }

  @Override
  public void setSoTimeout(int timeout) throws SocketException {
    soTimeout = timeout;
    plain.setSoTimeout(timeout);
  }

  @Override
  public int getSoTimeout() throws SocketException {
    return soTimeout;
  }

  @Override
  public boolean isClosed() {
    return closing.get() || plain.isClosed();
  }

  // The rest is the other socket's.

  @Override
  public void bind(SocketAddress local) throws IOException {
    plain.bind(local);
  }

  @Override
  public @Nullable InetAddress getInetAddress() {
    return plain.getInetAddress();
  }

  @Override
  public InetAddress getLocalAddress() {
    return plain.getLocalAddress();
  }

  @Override
  public int getPort() {
    return plain.getPort();
  }

  @Override
  public int getLocalPort() {
    return plain.getLocalPort();
  }

  @Override
  public @Nullable SocketAddress getRemoteSocketAddress() {
    return plain.getRemoteSocketAddress();
  }

  @Override
  public @Nullable SocketAddress getLocalSocketAddress() {
    return plain.getLocalSocketAddress();
  }

  @Override
  public @Nullable SocketChannel getChannel() {
    return null;
  }

  @Override
  public void setTcpNoDelay(boolean on) throws SocketException {
    plain.setTcpNoDelay(on);
  }

  @Override
  public boolean getTcpNoDelay() throws SocketException {
    return plain.getTcpNoDelay();
  }

  @Override
  public void setSoLinger(boolean on, int linger) throws SocketException {
    plain.setSoLinger(on, linger);
  }

  @Override
  public int getSoLinger() throws SocketException {
    return plain.getSoLinger();
  }

  @Override
  public void sendUrgentData(int data) throws IOException {
    plain.sendUrgentData(data);
  }

  @Override
  public void setOOBInline(boolean on) throws SocketException {
    plain.setOOBInline(on);
  }

  @Override
  public boolean getOOBInline() throws SocketException {
    return plain.getOOBInline();
  }

  @Override
  public void setSendBufferSize(int size) throws SocketException {
    plain.setSendBufferSize(size);
  }

  @Override
  public int getSendBufferSize() throws SocketException {
    return plain.getSendBufferSize();
  }

  @Override
  public void setReceiveBufferSize(int size) throws SocketException {
    plain.setReceiveBufferSize(size);
  }

  @Override
  public int getReceiveBufferSize() throws SocketException {
    return plain.getReceiveBufferSize();
  }

  @Override
  public void setKeepAlive(boolean on) throws SocketException {
    plain.setKeepAlive(on);
  }

  @Override
  public boolean getKeepAlive() throws SocketException {
    return plain.getKeepAlive();
  }

  @Override
  public void setTrafficClass(int trafficClass) throws SocketException {
    plain.setTrafficClass(trafficClass);
  }

  @Override
  public int getTrafficClass() throws SocketException {
    return plain.getTrafficClass();
  }

  @Override
  public void setReuseAddress(boolean on) throws SocketException {
    plain.setReuseAddress(on);
  }

  @Override
  public boolean getReuseAddress() throws SocketException {
    return plain.getReuseAddress();
  }

  @Override
  public void shutdownInput() throws IOException {
    plain.shutdownInput();
  }

  @Override
  public void shutdownOutput() throws IOException {
    plain.shutdownOutput();
  }

  @Override
  public boolean isConnected() {
    return plain.isConnected();
  }

  @Override
  public boolean isBound() {
    return plain.isBound();
  }

  @Override
  public boolean isInputShutdown() {
    return plain.isInputShutdown();
  }

  @Override
  public boolean isOutputShutdown() {
    return plain.isOutputShutdown();
  }

  @Override
  public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
    plain.setOption(name, value);
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) throws IOException {
    return plain.getOption(name);
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return plain.supportedOptions();
  }

  @Override
  public String toString() {
    return plain.toString();
  }
}
