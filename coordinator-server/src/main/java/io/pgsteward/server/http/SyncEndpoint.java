package io.pgsteward.server.http;

import io.javalin.http.Context;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MalformedMessageException;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * {@code POST /v1/members/{id}/sync}. Neither a body that is awaited nor a parked call holds a
 * thread: the one is read as it arrives, the other is a future of the control loop, and its answer
 * is written by the web server's threads, never by the loop's. Thread-safe.
 */
final class SyncEndpoint {

  private final Instances instances;
  private final Access access;
  private final Metrics metrics;
  private final Executor writers;
  private final CallLimits limits;
  private final LargeBodies large;
  private final AtomicInteger calls = new AtomicInteger();

  /**
   * @param writers threads that write answers
   */
  SyncEndpoint(
      Instances instances, Access access, Metrics metrics, Executor writers, CallLimits limits) {
    this.instances = instances;
    this.access = access;
    this.metrics = metrics;
    this.writers = writers;
    this.limits = limits;
    this.large = new LargeBodies(limits.largeBytes());
  }

  /** Calls that are open now, parked ones included. */
  int calls() {
    return calls.get();
  }

  void handle(Context context) {
    Access.MemberAccess allowed = access.member(context.header("Authorization"));
    MemberId member = member(context.pathParam("id"));
    String address = context.ip();
    context.future(
        () -> answer(context, call(context.req(), body -> sync(member, allowed, body, address))));
  }

  /** Counts the call from before its body until its answer. */
  private CompletableFuture<SyncResponse> call(
      HttpServletRequest request, Function<byte[], CompletableFuture<SyncResponse>> sync) {
    if (calls.incrementAndGet() > limits.calls()) {
      calls.decrementAndGet();
      return CompletableFuture.failedFuture(
          new Refusal(
              429, "too-many-calls", limits.calls() + " calls are open already; try again later"));
    }
    return RequestBody.read(request, limits, large)
        .thenCompose(sync)
        .whenComplete((answer, failure) -> calls.decrementAndGet());
  }

  private CompletableFuture<SyncResponse> sync(
      MemberId member, Access.MemberAccess allowed, byte[] body, String address) {
    SyncRequest request = request(body);
    allowed.check(request);
    return instances.named(request.instance()).sync(member, request, address);
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

  private static SyncRequest request(byte[] body) {
    try {
      SyncRequest request = Json.read(body, SyncRequest.class);
      RequestCheck.check(request);
      return request;
    } catch (MalformedMessageException e) {
      throw new Refusal(400, "bad-request", String.valueOf(e.getMessage()));
    }
  }
}
