package io.pgsteward.jdbc.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.protocol.SyncResponse;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls that the member gives up: for newer figures, or because it ends. */
@Timeout(60)
class HttpCallsGivenUpTest extends FakeHttpCoordinator {

  @Test
  void cancel_ends_a_parked_call_and_the_next_one_works() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    resources.add(end::countDown);
    CountDownLatch first = new CountDownLatch(1);
    CoordinatorClient client =
        client(
            server(
                x -> {
                  if (first.getCount() > 0) {
                    first.countDown();
                    await(end);
                  }
                  send(x, 200, RECORDED);
                }));
    CoordinatorCall parked = call(client, LONG);
    CompletableFuture<SyncResponse> answer = execute(parked);
    first.await();

    parked.cancel();

    assertThat(answer)
        .failsWithin(Duration.ofSeconds(20))
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            CoordinatorException.class, e -> assertThat(e.kind()).isEqualTo(Kind.CANCELLED));
    assertThat(call(client, LONG).execute().epoch()).isEqualTo(742);
  }

  @Test
  void calls_given_up_share_two_connections_since_a_newer_report_ends_the_older() throws Exception {
    Set<InetSocketAddress> connections = ConcurrentHashMap.newKeySet();
    LinkedBlockingQueue<CountDownLatch> parked = new LinkedBlockingQueue<>();
    CoordinatorClient client =
        client(
            server(
                x -> {
                  connections.add(x.getRemoteAddress());
                  parked.forEach(CountDownLatch::countDown);
                  CountDownLatch newer = new CountDownLatch(1);
                  parked.add(newer);
                  await(newer);
                  send(x, 200, RECORDED);
                }));
    resources.add(() -> parked.forEach(CountDownLatch::countDown));
    CoordinatorCall last = call(client, LONG);
    CompletableFuture<SyncResponse> answer = execute(last);
    heads.take();
    for (int i = 0; i < 20; i++) {
      last.cancel();
      assertThat(answer).failsWithin(Duration.ofSeconds(20));
      last = call(client, LONG);
      answer = execute(last);
      heads.take();
      awaitIdle(client);
    }

    assertThat(connections).hasSize(2);
  }

  /** Waits until the answer to the call that was given up has been read. */
  private static void awaitIdle(CoordinatorClient client) {
    while (((HttpCoordinatorClient) client).callsOnTheWire() > 1) {
      Thread.onSpinWait();
    }
  }

  @Test
  void of_calls_given_up_without_an_answer_only_the_latest_is_left() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    resources.add(never::countDown);
    HttpCoordinatorClient client = client(server(x -> await(never)));
    for (int i = 0; i < 5; i++) {
      CoordinatorCall call = call(client, LONG);
      CompletableFuture<SyncResponse> answer = execute(call);
      heads.take();
      call.cancel();
      assertThat(answer).failsWithin(Duration.ofSeconds(20));
    }
    while (client.callsOnTheWire() > 1) {
      Thread.onSpinWait();
    }
    client.close();
    while (client.callsOnTheWire() > 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void a_call_cancelled_before_it_began_sends_nothing() throws Exception {
    CoordinatorCall call = call(client(server(x -> send(x, 200, RECORDED))), LONG);
    call.cancel();
    assertThat(failure(call).kind()).isEqualTo(Kind.CANCELLED);
    assertThat(heads).isEmpty();
  }
}
