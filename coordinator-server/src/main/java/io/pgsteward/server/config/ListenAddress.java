package io.pgsteward.server.config;

import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * Where the coordinator listens. Immutable.
 *
 * @param host name or address, without brackets
 * @param port 0 to 65535; 0 lets the system choose a free one
 */
public record ListenAddress(String host, int port) {

  /** What is used when the file names none. */
  public static final ListenAddress DEFAULT = new ListenAddress("127.0.0.1", 7432);

  /**
   * Reads {@code host:port} or {@code [IPv6]:port}.
   *
   * @throws IllegalArgumentException if the text has another form
   */
  static ListenAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    String host = colon < 0 ? "" : text.substring(0, colon);
    String port = text.substring(colon + 1);
    boolean bracketed = host.startsWith("[") && host.endsWith("]");
    if (bracketed) {
      host = host.substring(1, host.length() - 1);
    }
    boolean wrong =
        host.isBlank() || (host.indexOf(':') >= 0 && !bracketed) || !port.matches("[0-9]{1,5}");
    if (wrong || Integer.parseInt(port) > 65535) {
      throw new IllegalArgumentException(
          "must be host:port with a port from 0 to 65535, such as 127.0.0.1:7432 or [::1]:7432,"
              + " but it is \""
              + text
              + "\"");
    }
    return new ListenAddress(host, Integer.parseInt(port));
  }

  /**
   * Whether only this machine can reach it.
   *
   * @throws UnknownHostException if the host has no address
   */
  boolean isLoopback() throws UnknownHostException {
    for (InetAddress address : InetAddress.getAllByName(host)) {
      if (!address.isLoopbackAddress()) {
        return false;
      }
    }
    return true;
  }

  /** Whether it stands for every address of the machine, and so names no machine. */
  public boolean isWildcard() {
    return host.equals("0.0.0.0") || host.equals("::");
  }

  @Override
  public String toString() {
    return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
  }
}
