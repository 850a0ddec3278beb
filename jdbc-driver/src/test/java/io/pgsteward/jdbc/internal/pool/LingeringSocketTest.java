package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.model.Ticker;
import io.pgsteward.testing.Await;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class LingeringSocketTest {

  private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long LONG = TimeUnit.SECONDS.toNanos(30);

  private final AtomicInteger closing = new AtomicInteger();
  private final AtomicInteger closed = new AtomicInteger();
  private final Wires.Listener listener =
      new Wires.Listener() {
        @Override
        public void closing() {
          closing.incrementAndGet();
        }

        @Override
        public void closed() {
          closed.incrementAndGet();
        }
      };

  @SuppressWarnings("NullAway.Init") // by listen
  private ServerSocket server;

  @BeforeEach
  void listen() throws IOException {
    server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private Wires wires(long openNanos, long closeNanos) {
    return new Wires(Ticker.system(), System.nanoTime() + openNanos, 1, closeNanos);
  }

  private Socket connect(Wires wires) throws IOException {
    Socket socket = wires.attach(new Socket());
    socket.connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort()), 0);
    return socket;
  }

  @Nested
  class AfterTheOpening {

    @Test
    void close_waits_for_the_other_end_and_knows_that_it_is_gone() throws Exception {
      Wires wires = wires(LONG, LONG);
      Socket socket = connect(wires);
      Socket backend = server.accept();
      wires.opened(listener);
      CompletableFuture<Void> closes = CompletableFuture.runAsync(wires::close);
      assertThat(backend.getInputStream().read()).isEqualTo(-1);
      assertThat(closes).isNotDone();
      assertThat(closing).hasValue(1);
      backend.close();
      closes.get(20, TimeUnit.SECONDS);
      assertThat(wires.gone()).isTrue();
      assertThat(closed).hasValue(1);
      assertThat(socket.isClosed()).isTrue();
    }

    @Test
    void what_the_other_end_still_sends_is_read_and_thrown_away() throws Exception {
      Wires wires = wires(LONG, LONG);
      connect(wires);
      Socket backend = server.accept();
      wires.opened(listener);
      CompletableFuture<Void> closes = CompletableFuture.runAsync(wires::close);
      backend.getOutputStream().write(new byte[2_000_000]);
      backend.close();
      closes.get(20, TimeUnit.SECONDS);
      assertThat(wires.gone()).isTrue();
    }

    @Test
    void an_end_that_stays_open_is_not_known_to_be_gone_until_it_is_seen_later() throws Exception {
      Wires wires = wires(LONG, SHORT);
      connect(wires);
      Socket backend = server.accept();
      wires.opened(listener);
      wires.close();
      assertThat(wires.gone()).isFalse();
      assertThat(wires.goneNow()).isFalse();
      backend.close();
      Await.until("its end is seen", wires::goneNow);
    }

    @Test
    void a_reset_means_gone() throws Exception {
      Wires wires = wires(LONG, LONG);
      connect(wires);
      Socket backend = server.accept();
      wires.opened(listener);
      backend.setSoLinger(true, 0);
      backend.close();
      wires.close();
      assertThat(wires.gone()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
      "Connection reset, true",
      "Socket input is shutdown, true",
      "No route to host, false",
      "Keine Route zum Zielrechner, false",
      "Network is unreachable (Read failed), false",
      "Connection timed out, false",
      "Socket closed, false"
    })
    void only_what_the_jdk_itself_says_of_an_end_means_gone(String message, boolean gone) {
      assertThat(LingeringSocket.saysThatTheOtherEndIsGone(new SocketException(message)))
          .isEqualTo(gone);
    }

    @Test
    void closing_a_stream_closes_the_socket_with_the_wait() throws Exception {
      Wires wires = wires(LONG, SHORT);
      Socket socket = connect(wires);
      Socket backend = server.accept();
      wires.opened(listener);
      socket.getOutputStream().close();
      assertThat(wires.gone()).isFalse();
      assertThat(closed).hasValue(1);
      backend.close();
    }

    @Test
    void a_thread_that_reads_is_freed_and_then_nothing_is_known() throws Exception {
      Wires wires = wires(LONG, LONG);
      Socket socket = connect(wires);
      Socket backend = server.accept();
      wires.opened(listener);
      InputStream in = socket.getInputStream();
      CompletableFuture<Throwable> reader =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  in.read(new byte[1]);
                  return new AssertionError("read something");
                } catch (IOException e) {
                  return e;
                }
              });
      TimeUnit.MILLISECONDS.sleep(100);
      socket.close();
      assertThat(reader.get(20, TimeUnit.SECONDS)).isInstanceOf(IOException.class);
      assertThat(wires.gone()).isFalse();
      assertThatThrownBy(() -> in.read(new byte[1])).isInstanceOf(IOException.class);
      backend.close();
    }

    @Test
    void the_listener_hears_of_a_close_that_came_before_it() throws Exception {
      Wires wires = wires(LONG, SHORT);
      Socket socket = connect(wires);
      socket.close();
      wires.opened(listener);
      assertThat(closing).hasValue(1);
    }
  }

  @Nested
  class DuringTheOpening {

    @Test
    void a_read_ends_at_the_deadline_of_the_opening() throws Exception {
      Wires wires = wires(SHORT, LONG);
      Socket socket = connect(wires);
      assertThatThrownBy(() -> socket.getInputStream().read())
          .isExactlyInstanceOf(IOException.class)
          .hasMessageContaining("connect timeout");
    }

    @Test
    void after_the_deadline_nothing_is_connected_any_more() throws Exception {
      Wires wires = wires(-SHORT, LONG);
      assertThatThrownBy(() -> connect(wires)).isInstanceOf(IOException.class);
      server.setSoTimeout(100);
      assertThatThrownBy(server::accept).isInstanceOf(SocketTimeoutException.class);
    }

    @Test
    void the_deadline_counts_from_the_decision_to_open_whatever_time_has_passed_since() {
      TenantPoolSettings settings =
          TenantPoolSettings.builder("web@shop", "jdbc:stub:", new Properties())
              .driver(new StubDriver())
              .connectTimeout(Duration.ofSeconds(5))
              .build();
      long decided = 1_000;
      Wires wires = new SlotOpener(settings, () -> decided + LONG).attempt(decided);
      assertThat(wires.deadlineFor(InetSocketAddress.createUnresolved("a", 1)))
          .isEqualTo(decided + TimeUnit.SECONDS.toNanos(5));
    }

    @Test
    void a_shorter_timeout_of_the_drivers_own_stays_in_force() throws Exception {
      Wires wires = wires(LONG, LONG);
      Socket socket = connect(wires);
      socket.setSoTimeout(50);
      assertThatThrownBy(() -> socket.getInputStream().read())
          .isInstanceOf(SocketTimeoutException.class);
      assertThat(socket.getSoTimeout()).isEqualTo(50);
    }

    @Test
    void a_host_that_never_answers_leaves_half_of_the_time_for_the_other() throws Exception {
      Wires wires =
          new Wires(Ticker.system(), System.nanoTime() + TimeUnit.SECONDS.toNanos(60), 2, LONG);
      long now = System.nanoTime();
      InetSocketAddress first = InetSocketAddress.createUnresolved("a", 1);
      long share = wires.deadlineFor(first) - now;
      assertThat(share).isBetween(TimeUnit.SECONDS.toNanos(25), TimeUnit.SECONDS.toNanos(31));
      assertThat(wires.deadlineFor(first) - now).isEqualTo(share);
      assertThat(wires.deadlineFor(InetSocketAddress.createUnresolved("b", 1)) - now)
          .isGreaterThan(TimeUnit.SECONDS.toNanos(50));
    }

    @Test
    void abandoning_it_ends_a_read_that_hangs() throws Exception {
      Wires wires = wires(LONG, LONG);
      Socket socket = connect(wires);
      CompletableFuture<Void> abandons =
          CompletableFuture.runAsync(
              wires::abandon, CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS));
      assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(IOException.class);
      abandons.get(20, TimeUnit.SECONDS);
      assertThatThrownBy(() -> wires.attach(new Socket())).isInstanceOf(IOException.class);
    }

    @Test
    void a_socket_that_never_connected_leaves_nothing() throws Exception {
      Wires wires = wires(LONG, LONG);
      int port = server.getLocalPort();
      server.close();
      Socket socket = wires.attach(new Socket());
      assertThatThrownBy(
              () -> socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)))
          .isInstanceOf(IOException.class);
      wires.close();
      assertThat(wires.gone()).isTrue();
    }
  }
}
