package io.pgsteward.server.http;

import static io.pgsteward.server.http.RunningCoordinator.MEMBER;
import static io.pgsteward.server.http.RunningCoordinator.grant;
import static io.pgsteward.server.http.RunningCoordinator.read;
import static io.pgsteward.server.http.RunningCoordinator.snapshot;
import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(NoThreadsLeft.class)
@Timeout(60)
class SyncEndpointTest {

  /** Far below the park time of 10 s, after which a parked call would end by itself. */
  private static final Duration SOON = Duration.ofSeconds(5);

  /** Waits until a report with this demand, unlike the one before it, was taken in. */
  private static void awaitDemand(RunningCoordinator coordinator, int demand)
      throws InterruptedException {
    Await.until(
        "a demand of " + demand,
        SOON,
        () -> {
          try {
            return (int) coordinator.metric("pgsteward_tenant_demand") == demand;
          } catch (Exception e) {
            throw new AssertionError(e);
          }
        });
  }

  private static void awaitCalls(RunningCoordinator coordinator, int calls)
      throws InterruptedException {
    Await.until(calls + " calls are open", SOON, () -> calls(coordinator) == calls);
  }

  private static double calls(RunningCoordinator coordinator) {
    try {
      return coordinator.metric("pgsteward_open_calls");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void demand_is_granted_from_free_budget() throws Exception {
    try (RunningCoordinator coordinator = RunningCoordinator.with(10)) {
      SyncResponse answer = coordinator.settle(MEMBER, "web@shop", 4);

      assertThat(grant(answer, "web@shop")).isEqualTo(4);
      assertThat(answer.budget()).isEqualTo(10);
      assertThat(answer.instance()).isEqualTo("main");
      assertThat(answer.epoch()).isEqualTo(101);
    }
  }

  @Nested
  class A_parked_call {

    @Test
    void is_answered_after_the_park_time() throws Exception {
      try (RunningCoordinator coordinator =
          RunningCoordinator.with(10, Duration.ofMillis(300), 100)) {
        SyncResponse granted = coordinator.settle(MEMBER, "web@shop", 1);

        SyncResponse same = read(coordinator.sync(snapshot(100, granted, "web@shop", 1)));

        assertThat(same.generation()).isEqualTo(granted.generation());
      }
    }

    @Test
    void is_answered_when_the_grant_changes() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(4)) {
        SyncResponse granted = coordinator.settle("holder-001", "web@shop", 4);
        CompletableFuture<HttpResponse<String>> parked =
            coordinator.syncLater("holder-001", snapshot(100, granted, "web@shop", 4));
        awaitCalls(coordinator, 1);

        CompletableFuture<HttpResponse<String>> other =
            coordinator.syncLater("newcomer-1", snapshot(1, null, "worker@shop", 4));

        SyncResponse lowered = read(parked.get(SOON.toSeconds(), TimeUnit.SECONDS));
        assertThat(grant(lowered, "web@shop")).isEqualTo(2);
        other.cancel(true);
      }
    }

    @Test
    void holds_no_thread() throws Exception {
      try (RunningCoordinator coordinator = RunningCoordinator.with(1_000)) {
        List<CompletableFuture<HttpResponse<String>>> parked = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
          String member = "member-" + (1_000 + i);
          SyncResponse granted = coordinator.settle(member, "web@shop", 1);
          parked.add(coordinator.syncLater(member, snapshot(100, granted, "web@shop", 1)));
        }

        awaitCalls(coordinator, 100);

        assertThat(
                Thread.getAllStackTraces().keySet().stream()
                    .filter(t -> t.getName().startsWith("pgsteward-http")))
            .hasSizeLessThanOrEqualTo(16);
        assertThat(parked).noneMatch(CompletableFuture::isDone);
        parked.forEach(call -> call.cancel(true));
      }
    }

    @Test
    void is_answered_when_the_coordinator_stops() throws Exception {
      RunningCoordinator coordinator = RunningCoordinator.with(10);
      SyncResponse granted = coordinator.settle(MEMBER, "web@shop", 1);
      CompletableFuture<HttpResponse<String>> parked =
          coordinator.syncLater(MEMBER, snapshot(100, granted, "web@shop", 0));
      awaitDemand(coordinator, 0); // an open call may not have reached the control loop yet

      coordinator.close();

      SyncResponse last = read(parked.get(SOON.toSeconds(), TimeUnit.SECONDS));
      assertThat(grant(last, "web@shop")).isEqualTo(1);
    }
  }

  @Nested
  class The_caller_of_a_parked_call {

    @Test
    void goes_on_with_its_next_request_on_the_same_connection() throws Exception {
      try (RunningCoordinator coordinator =
          RunningCoordinator.with(10, Duration.ofMillis(200), 100)) {
        SyncResponse granted = coordinator.settle(MEMBER, "web@shop", 1);
        try (Socket socket = rawSync(coordinator, snapshot(100, granted, "web@shop", 1))) {
          for (int sequence = 101; sequence < 110; sequence++) {
            assertThat(readAnswer(socket)).startsWith("HTTP/1.1 200");
            write(socket, snapshot(sequence, granted, "web@shop", 1));
          }
          assertThat(readAnswer(socket)).startsWith("HTTP/1.1 200");
        }
      }
    }

    private Socket rawSync(RunningCoordinator coordinator, SyncRequest request) throws IOException {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), coordinator.port());
      socket.setSoTimeout(20_000);
      write(socket, request);
      return socket;
    }

    private void write(Socket socket, SyncRequest request) throws IOException {
      byte[] body = Json.write(request);
      String head =
          "POST /v1/members/"
              + MEMBER
              + "/sync HTTP/1.1\r\nHost: x\r\nContent-Length: "
              + body.length
              + "\r\n\r\n";
      ByteArrayOutputStream whole = new ByteArrayOutputStream();
      whole.writeBytes(head.getBytes(StandardCharsets.US_ASCII));
      whole.writeBytes(body);
      socket.getOutputStream().write(whole.toByteArray());
    }

    /** The head of one answer; empty if the connection was closed instead. */
    private String readAnswer(Socket socket) throws IOException {
      InputStream in = socket.getInputStream();
      StringBuilder head = new StringBuilder();
      while (head.indexOf("\r\n\r\n") < 0) {
        int c = readOrEnd(in);
        if (c < 0) {
          return head.toString();
        }
        head.append((char) c);
      }
      int at = head.indexOf("Content-Length: ") + 16;
      int length = Integer.parseInt(head.substring(at, head.indexOf("\r\n", at)));
      in.readNBytes(length);
      return head.toString();
    }

    private int readOrEnd(InputStream in) {
      try {
        return in.read();
      } catch (IOException reset) {
        return -1;
      }
    }
  }

  /** Parking, answering at once and giving the connection back race with each other here. */
  @Test
  void many_members_that_ask_all_the_time_are_all_answered() throws Exception {
    int members = 12;
    try (RunningCoordinator coordinator =
        RunningCoordinator.with(20, Duration.ofMillis(3), 1_000)) {
      ExecutorService callers = Executors.newFixedThreadPool(members);
      List<Future<Integer>> answered = new ArrayList<>();
      for (int i = 0; i < members; i++) {
        String member = "member-" + (1_000 + i);
        answered.add(callers.submit(() -> askOften(coordinator, member, 150)));
      }
      for (Future<Integer> count : answered) {
        assertThat(count.get(50, TimeUnit.SECONDS)).isEqualTo(150);
      }
      callers.shutdown();
      awaitCalls(coordinator, 0);
    }
  }

  /** Demand that comes and goes, so that some answers are at once and some are parked. */
  private static int askOften(RunningCoordinator coordinator, String member, int times)
      throws Exception {
    SyncResponse last = null;
    for (int i = 1; i <= times; i++) {
      int demand = i / 4 % 3;
      last =
          read(
              coordinator.send(
                  coordinator.syncOf(member, snapshot(i, last, "web@shop", demand)).build()));
    }
    return times;
  }

  @Test
  void calls_beyond_the_cap_are_refused() throws Exception {
    try (RunningCoordinator coordinator = RunningCoordinator.with(10, RunningCoordinator.PARK, 1)) {
      SyncResponse granted = coordinator.settle(MEMBER, "web@shop", 1);
      CompletableFuture<HttpResponse<String>> parked =
          coordinator.syncLater(MEMBER, snapshot(100, granted, "web@shop", 1));
      awaitCalls(coordinator, 1);

      HttpResponse<String> refused =
          coordinator.send(
              coordinator.syncOf("another-1", snapshot(1, null, "web@shop", 1)).build());

      assertThat(refused.statusCode()).isEqualTo(429);
      assertThat(refused.body()).contains("too-many-calls");
      parked.cancel(true);
    }
  }
}
