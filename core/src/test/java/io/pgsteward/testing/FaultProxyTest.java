package io.pgsteward.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FaultProxyTest {

  private ServerSocket echo;
  private FaultProxy proxy;

  @BeforeEach
  void start() throws IOException {
    echo = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread server = new Thread(this::serve);
    server.setDaemon(true);
    server.start();
    proxy = FaultProxy.before("127.0.0.1", echo.getLocalPort());
  }

  @AfterEach
  void stop() throws IOException {
    proxy.close();
    echo.close();
  }

  @Test
  void passes_bytes_both_ways() throws IOException {
    try (Socket socket = connect()) {
      assertThat(echoed(socket, 7)).isEqualTo(7);
      assertThat(proxy.accepted()).isEqualTo(1);
    }
  }

  @Test
  void the_end_of_one_side_reaches_the_other() throws IOException {
    try (Socket socket = connect()) {
      echoed(socket, 7);
      socket.shutdownOutput();
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
    }
  }

  @Test
  void a_delayed_byte_comes_later() throws IOException {
    try (Socket socket = connect()) {
      echoed(socket, 1);
      proxy.delay(Duration.ofMillis(60));
      long start = System.nanoTime();
      assertThat(echoed(socket, 2)).isEqualTo(2);
      assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(120_000_000L);
    }
  }

  @Test
  void a_stalled_byte_waits_and_is_not_lost() throws IOException {
    try (Socket socket = connect()) {
      proxy.stall();
      socket.getOutputStream().write(5);
      assertSilent(socket);
      proxy.pass();
      assertThat(socket.getInputStream().read()).isEqualTo(5);
    }
  }

  @Test
  void stalled_connections_are_accepted_and_not_answered() throws IOException {
    proxy.stall();
    try (Socket socket = connect()) {
      socket.getOutputStream().write(5);
      assertSilent(socket);
    }
  }

  @Test
  void dropped_bytes_never_come_and_the_connection_stays_half_open() throws IOException {
    try (Socket old = connect()) {
      assertThat(echoed(old, 1)).isEqualTo(1);
      proxy.drop();
      old.getOutputStream().write(2);
      assertSilent(old);
      proxy.pass();
      old.getOutputStream().write(3);
      assertSilent(old);
      try (Socket fresh = connect()) {
        assertThat(echoed(fresh, 4)).isEqualTo(4);
      }
    }
  }

  @Test
  void a_cut_ends_old_and_new_connections_in_order() throws IOException {
    try (Socket old = connect()) {
      echoed(old, 1);
      proxy.cut();
      assertThat(old.getInputStream().read()).isEqualTo(-1);
      try (Socket fresh = connect()) {
        assertThat(fresh.getInputStream().read()).isEqualTo(-1);
      }
    }
    proxy.pass();
    try (Socket again = connect()) {
      assertThat(echoed(again, 9)).isEqualTo(9);
    }
  }

  @Test
  void a_reset_breaks_connections() throws IOException {
    try (Socket old = connect()) {
      echoed(old, 1);
      proxy.reset();
      assertThatThrownBy(() -> old.getInputStream().read())
          .isInstanceOf(SocketException.class)
          .hasMessageContaining("reset");
    }
  }

  @Test
  void refuses_new_connections_and_keeps_old_ones() throws IOException {
    try (Socket old = connect()) {
      echoed(old, 1);
      proxy.refuse();
      assertThatThrownBy(this::connect).isInstanceOf(ConnectException.class);
      assertThat(echoed(old, 2)).isEqualTo(2);
      proxy.pass();
      try (Socket fresh = connect()) {
        assertThat(echoed(fresh, 3)).isEqualTo(3);
      }
    }
  }

  @Test
  void close_ends_everything() throws Exception {
    try (Socket socket = connect()) {
      echoed(socket, 1);
      proxy.close();
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
      assertThat(proxy.open()).isZero();
      Await.until("no thread of the proxy is left", FaultProxyTest::noThreadOfTheProxy);
    }
  }

  private static boolean noThreadOfTheProxy() {
    return Thread.getAllStackTraces().keySet().stream()
        .noneMatch(thread -> thread.getName().startsWith("fault-proxy-"));
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
    socket.setSoTimeout(10_000);
    return socket;
  }

  private static int echoed(Socket socket, int value) throws IOException {
    socket.getOutputStream().write(value);
    return socket.getInputStream().read();
  }

  private static void assertSilent(Socket socket) throws IOException {
    socket.setSoTimeout(80);
    assertThatThrownBy(() -> socket.getInputStream().read())
        .isInstanceOf(SocketTimeoutException.class);
    socket.setSoTimeout(10_000);
  }

  private void serve() {
    while (true) {
      try {
        Socket socket = echo.accept();
        Thread copy = new Thread(() -> copy(socket));
        copy.setDaemon(true);
        copy.start();
      } catch (IOException stopped) {
        return;
      }
    }
  }

  private static void copy(Socket socket) {
    try (socket) {
      socket.getInputStream().transferTo(socket.getOutputStream());
    } catch (IOException broken) {
      // A test broke the connection on purpose.
    }
  }
}
