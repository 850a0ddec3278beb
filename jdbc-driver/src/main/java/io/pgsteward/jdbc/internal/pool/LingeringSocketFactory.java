package io.pgsteward.jdbc.internal.pool;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Properties;
import javax.net.SocketFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.SocketFactoryFactory;

/**
 * The socket factory that our pools give to pgjdbc: its sockets wait in {@link Socket#close} until
 * PostgreSQL has closed the other end, which it does when the backend exits. Only then is the place
 * at PostgreSQL free again; a connection opened right after an ordinary close is refused with 53300
 * every now and then at a full server.
 *
 * <p>A socket factory of the user's own is wrapped: our pools move its name from {@code
 * socketFactory} to {@value #USERS_FACTORY}. Public only because pgjdbc makes it by name.
 */
public final class LingeringSocketFactory extends SocketFactory {

  /** Property that holds the user's own {@code socketFactory}. */
  static final String USERS_FACTORY = "pgsteward.socketFactory";

  private final SocketFactory plain;
  private final @Nullable Wires attempt;

  /** Called by pgjdbc with the connection's properties. */
  public LingeringSocketFactory(Properties properties) throws Exception {
    Properties users = new Properties();
    users.putAll(properties);
    users.remove("socketFactory");
    String name = properties.getProperty(USERS_FACTORY);
    if (name != null) {
      users.setProperty("socketFactory", name);
    }
    this.plain = SocketFactoryFactory.getSocketFactory(users);
    this.attempt = Wires.current();
  }

  @Override
  public Socket createSocket() throws IOException {
    return attach(plain.createSocket());
  }

  @Override
  public Socket createSocket(String host, int port) throws IOException {
    return connected(new InetSocketAddress(host, port));
  }

  @Override
  public Socket createSocket(String host, int port, InetAddress localHost, int localPort)
      throws IOException {
    return connected(new InetSocketAddress(host, port));
  }

  @Override
  public Socket createSocket(InetAddress host, int port) throws IOException {
    return connected(new InetSocketAddress(host, port));
  }

  @Override
  public Socket createSocket(InetAddress host, int port, InetAddress localHost, int localPort)
      throws IOException {
    return connected(new InetSocketAddress(host, port));
  }

  private Socket connected(InetSocketAddress address) throws IOException {
    Socket socket = createSocket();
    try {
      socket.connect(address);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  private Socket attach(Socket socket) throws IOException {
    return attempt == null ? socket : attempt.attach(socket);
  }
}
