package io.pgsteward.server.http;

import static io.pgsteward.server.http.RunningCoordinator.MEMBER;
import static io.pgsteward.server.http.RunningCoordinator.grant;
import static io.pgsteward.server.http.RunningCoordinator.snapshot;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.pgsteward.protocol.Json;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Bodies that come slowly, are too large, or never end. */
@ExtendWith(NoThreadsLeft.class)
@Timeout(60)
class SyncBodyTest {

  private static final int MOST_BYTES = 1_000;

  /** So long that no test passes because it is over. */
  private static final CallLimits PATIENT =
      new CallLimits(1_000, MOST_BYTES, Duration.ofMinutes(5), 0);

  private static final String LENGTH = "Content-Length: ";
  private static final String CHUNKED = "Transfer-Encoding: chunked";

  private static Socket post(RunningCoordinator coordinator, String framing, String begin)
      throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), coordinator.port());
    socket.setSoTimeout(20_000);
    write(
        socket,
        "POST /v1/members/" + MEMBER + "/sync HTTP/1.1\r\nHost: x\r\n" + framing + "\r\n\r\n");
    write(socket, begin);
    return socket;
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Everything up to the end of the connection. */
  private static String answer(Socket socket) throws IOException {
    return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  private static void awaitCalls(RunningCoordinator coordinator, int calls)
      throws InterruptedException {
    Await.until(
        calls + " calls are open",
        Duration.ofSeconds(20),
        () -> {
          try {
            return coordinator.metric("pgsteward_open_calls") == calls;
          } catch (Exception e) {
            throw new AssertionError(e);
          }
        });
  }

  @Nested
  class A_body_that_stays_away {

    @Test
    void holds_no_thread() throws Exception {
      List<Socket> silent = new ArrayList<>();
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT)) {
        for (int i = 0; i < 64; i++) {
          silent.add(post(coordinator, LENGTH + 100, "{"));
        }
        awaitCalls(coordinator, 64);

        assertThat(coordinator.get("/health/live").statusCode()).isEqualTo(200);
        assertThat(coordinator.get("/v1/status").statusCode()).isEqualTo(200);
        assertThat(grant(coordinator.settle("member-0002", "web@shop", 3), "web@shop"))
            .isEqualTo(3);
        assertThat(coordinator.metric("pgsteward_open_calls")).isEqualTo(64);
      } finally {
        for (Socket socket : silent) {
          socket.close();
        }
      }
    }

    @ParameterizedTest
    @ValueSource(strings = {LENGTH + 100, CHUNKED})
    void is_waited_for_until_the_deadline(String framing) throws Exception {
      CallLimits hasty = new CallLimits(1_000, MOST_BYTES, Duration.ofMillis(200), 0);
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, hasty);
          Socket socket = post(coordinator, framing, "2\r\n{ \r\n")) {

        assertThat(answer(socket))
            .startsWith("HTTP/1.1 408 ")
            .contains("Connection: close")
            .contains("{\"error\":\"too-slow\",\"message\":\"")
            .contains("not complete after 200 ms");
        awaitCalls(coordinator, 0);
      }
    }
  }

  @Nested
  class A_body_in_pieces {

    private final String body =
        new String(Json.write(snapshot(1, null, "web@shop", 2)), StandardCharsets.UTF_8);

    @Test
    void is_taken_when_it_is_whole() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT);
          Socket socket = post(coordinator, LENGTH + body.length() + "\r\nConnection: close", "")) {
        for (String piece : body.split("(?<=,)")) {
          awaitCalls(coordinator, 1);
          write(socket, piece);
        }

        assertThat(answer(socket)).startsWith("HTTP/1.1 200 ").contains("\"tenant\":\"web@shop\"");
      }
    }

    @Test
    void is_taken_chunk_by_chunk() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT);
          Socket socket = post(coordinator, CHUNKED + "\r\nConnection: close", "")) {
        for (String piece : body.split("(?<=,)")) {
          awaitCalls(coordinator, 1);
          write(socket, Integer.toHexString(piece.length()) + "\r\n" + piece + "\r\n");
        }
        write(socket, "0\r\n\r\n");

        assertThat(answer(socket)).startsWith("HTTP/1.1 200 ").contains("\"tenant\":\"web@shop\"");
      }
    }
  }

  @Nested
  class A_body_that_is_too_large {

    private void assertTooLarge(Socket socket) throws IOException {
      assertThat(answer(socket))
          .startsWith("HTTP/1.1 413 ")
          .contains("Connection: close")
          .contains("{\"error\":\"too-large\",\"message\":\"a request is at most 1000 bytes");
    }

    @Test
    void is_refused_by_its_declared_length_before_it_comes() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT);
          Socket socket = post(coordinator, LENGTH + (MOST_BYTES + 1), "")) {
        assertTooLarge(socket);
        awaitCalls(coordinator, 0);
      }
    }

    @Test
    void is_refused_as_soon_as_its_chunks_pass_the_limit() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT);
          Socket socket = post(coordinator, CHUNKED, "")) {
        write(socket, "3E8\r\n" + " ".repeat(MOST_BYTES) + "\r\n");
        awaitCalls(coordinator, 1);

        write(socket, "1\r\n \r\n");

        assertTooLarge(socket);
        awaitCalls(coordinator, 0);
      }
    }

    @Test
    void begins_above_the_limit_itself() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT)) {
        byte[] body = new byte[MOST_BYTES];
        Arrays.fill(body, (byte) ' ');
        byte[] json = Json.write(snapshot(1, null, "web@shop", 2));
        System.arraycopy(json, 0, body, 0, json.length);
        String whole = new String(body, StandardCharsets.UTF_8);
        String path = "/v1/members/" + MEMBER + "/sync";

        assertThat(coordinator.post(path, whole).statusCode()).isEqualTo(200);
        assertThat(coordinator.post(path, whole + " ").statusCode()).isEqualTo(413);
      }
    }

    @Test
    void is_not_read_to_its_end() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT);
          Socket socket = post(coordinator, CHUNKED, "")) {
        assertThat(chunksTaken(socket)).isLessThan(1_000_000);
        awaitCalls(coordinator, 0);
      }
    }

    /** How many chunks of 1 KiB can be sent before the connection is closed. */
    private int chunksTaken(Socket socket) {
      String chunk = "400\r\n" + " ".repeat(1_024) + "\r\n";
      int sent = 0;
      try {
        while (sent < 1_000_000) {
          write(socket, chunk);
          sent++;
        }
      } catch (IOException closed) {
        return sent;
      }
      return sent;
    }
  }

  @Nested
  class Large_bodies {

    private static final int LARGE = CallLimits.SMALL + 15_000;
    private final CallLimits roomForOne =
        new CallLimits(1_000, 100_000, Duration.ofMinutes(5), 20_000);

    @Test
    void keep_out_large_ones_alone_and_only_while_they_arrive() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, roomForOne)) {
        try (Socket first = post(coordinator, LENGTH + (LARGE + 1), " ".repeat(LARGE))) {
          awaitCalls(coordinator, 1);
          // The first may still be on its way, so either is the one too many.
          try (Socket second = post(coordinator, LENGTH + (LARGE + 1), " ".repeat(LARGE))) {
            awaitRefused(coordinator, 1);
            awaitCalls(coordinator, 1);
            assertThat(grant(coordinator.settle("member-0002", "web@shop", 3), "web@shop"))
                .isEqualTo(3);
            assertThat(List.of(first, second)).allMatch(Socket::isConnected);
          }
        }
        awaitCalls(coordinator, 0);

        String path = "/v1/members/" + MEMBER + "/sync";
        String body =
            new String(Json.write(snapshot(1, null, "web@shop", 2)), StandardCharsets.UTF_8);
        assertThat(coordinator.post(path, body + " ".repeat(LARGE)).statusCode()).isEqualTo(200);
      }
    }

    private void awaitRefused(RunningCoordinator coordinator, int times)
        throws InterruptedException {
      Await.until(
          "a large body is refused",
          () -> {
            try {
              return coordinator.metric("pgsteward_syncs_total{outcome=\"too-many-calls\"}")
                  == times;
            } catch (Exception e) {
              throw new AssertionError(e);
            }
          });
    }
  }

  @Nested
  class A_caller_that_goes_away_in_mid_body {

    private final Logger logger =
        (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void leaves_no_more_than_a_line_in_the_log(boolean reset) throws Exception {
      lines.start();
      logger.addAppender(lines);
      try (RunningCoordinator coordinator = RunningCoordinator.with(10, PATIENT)) {
        Socket socket = post(coordinator, LENGTH + 100, "{\"sequence\":");
        awaitCalls(coordinator, 1);

        if (reset) {
          socket.setSoLinger(true, 0);
        }
        socket.close();

        awaitCalls(coordinator, 0);
        Await.until(
            "its end is counted",
            () -> {
              try {
                return coordinator.metric("pgsteward_syncs_total{outcome=\"bad-request\"}") == 1;
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
      } finally {
        logger.detachAppender(lines);
      }
      assertThat(lines.list)
          .filteredOn(line -> line.getLevel().isGreaterOrEqual(Level.INFO))
          .noneMatch(line -> line.getThrowableProxy() != null)
          .hasSizeLessThanOrEqualTo(1);
    }
  }
}
