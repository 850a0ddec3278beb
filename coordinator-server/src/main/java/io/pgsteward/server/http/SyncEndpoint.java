package io.pgsteward.server.http;

import io.javalin.http.Context;
import io.pgsteward.coordination.ControlLoop;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MalformedMessageException;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * {@code POST /v1/members/{id}/sync}. A parked call holds no thread: it is a future of the control
 * loop, and its answer is written by the web server's threads, never by the loop's. Thread-safe.
 */
final class SyncEndpoint {

  private final Instances instances;
  private final Access access;
  private final Metrics metrics;
  private final Executor writers;
  private final int mostCalls;
  private final AtomicInteger calls = new AtomicInteger();

  /**
   * @param writers threads that write answers
   * @param mostCalls how many calls may be open at once, parked ones included
   */
  SyncEndpoint(
      Instances instances, Access access, Metrics metrics, Executor writers, int mostCalls) {
    this.instances = instances;
    this.access = access;
    this.metrics = metrics;
    this.writers = writers;
    this.mostCalls = mostCalls;
  }

  /** Calls that are open now, parked ones included. */
  int calls() {
    return calls.get();
  }

  void handle(Context context) throws IOException {
    Access.MemberAccess allowed = access.member(context.header("Authorization"));
    MemberId member = member(context.pathParam("id"));
    SyncRequest request = request(context);
    allowed.check(request);
    ControlLoop loop = instances.named(request.instance());
    if (calls.incrementAndGet() > mostCalls) {
      calls.decrementAndGet();
      throw new Refusal(
          429, "too-many-calls", mostCalls + " calls are open already; try again later");
    }
    CompletableFuture<SyncResponse> reply =
        loop.sync(member, request, context.ip())
            .whenComplete((answer, failure) -> calls.decrementAndGet());
    context.future(() -> answer(context, reply));
  }

  /**
   * The web server does not tell when a caller goes away while its call is parked. Such a call ends
   * with the member's next one, or after the park time.
   */
  private CompletableFuture<?> answer(Context context, CompletableFuture<SyncResponse> reply) {
    return reply.handleAsync(
        (answer, failure) -> {
          if (failure != null) {
            throw Refusal.of(failure);
          }
          metrics.answered();
          context.contentType("application/json").result(Json.write(answer));
          return answer;
        },
        writers);
  }

  private static MemberId member(String id) {
    try {
      return new MemberId(id);
    } catch (IllegalArgumentException e) {
      throw new Refusal(400, "bad-request", String.valueOf(e.getMessage()));
    }
  }

  private static SyncRequest request(Context context) throws IOException {
    try {
      return Json.read(RequestBody.read(context), SyncRequest.class);
    } catch (MalformedMessageException e) {
      throw new Refusal(400, "bad-request", String.valueOf(e.getMessage()));
    }
  }
}
