package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A coordinator played by the test: each call waits until the test, or a script, ends it. */
final class FakeCoordinator implements CoordinatorClient {

  static final long LEASE_MILLIS = 15_000;

  private final LinkedBlockingQueue<Call> calls = new LinkedBlockingQueue<>();
  private volatile @Nullable Consumer<Call> script;
  private volatile boolean closed;

  /** One call of the member. */
  static final class Call implements CoordinatorCall {
    private final SyncRequest request;
    private final Duration readTimeout;
    private final CompletableFuture<SyncResponse> end = new CompletableFuture<>();
    private final Runnable begun;

    Call(SyncRequest request, Duration readTimeout, Runnable begun) {
      this.request = request;
      this.readTimeout = readTimeout;
      this.begun = begun;
    }

    SyncRequest request() {
      return request;
    }

    Duration readTimeout() {
      return readTimeout;
    }

    boolean isCancelled() {
      return end.isCompletedExceptionally();
    }

    void awaitEnd() throws Exception {
      try {
        end.get(30, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        // a failure is an end
      }
    }

    Call answer(SyncResponse answer) {
      end.complete(answer);
      return this;
    }

    Call serve(long epoch, long generation, Map<String, Integer> grants) {
      return answer(answerOf(epoch, generation, CoordinatorPhase.SERVING, LEASE_MILLIS, grants));
    }

    Call fail(Kind kind) {
      end.completeExceptionally(new CoordinatorException(kind, "fake: " + kind, false, null));
      return this;
    }

    @Override
    public SyncResponse execute() throws CoordinatorException {
      begun.run();
      try {
        return end.get(readTimeout.toNanos(), TimeUnit.NANOSECONDS);
      } catch (ExecutionException e) {
        if (e.getCause() instanceof CoordinatorException failure) {
          throw failure;
        }
        throw new IllegalStateException(e);
      } catch (TimeoutException e) {
        CoordinatorException silent =
            new CoordinatorException(Kind.UNREACHABLE, "fake: no answer", false, e);
        end.completeExceptionally(silent);
        throw silent;
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void cancel() {
      fail(Kind.CANCELLED);
    }
  }

  static SyncResponse answerOf(
      long epoch,
      long generation,
      CoordinatorPhase phase,
      long leaseMillis,
      Map<String, Integer> grants) {
    List<TenantGrant> tenants =
        new TreeMap<>(grants)
            .entrySet().stream()
                .map(e -> new TenantGrant(e.getKey(), e.getValue(), null, e.getValue(), null))
                .toList();
    return new SyncResponse(
        1,
        "main",
        epoch,
        generation,
        phase,
        leaseMillis,
        Math.max(1, leaseMillis / 3),
        97,
        40,
        tenants);
  }

  /** Lets a script end each call as it begins; calls are still recorded. */
  void script(Consumer<Call> each) {
    script = each;
  }

  /** The next call that has begun. */
  Call next() throws InterruptedException {
    Call call = calls.poll(30, TimeUnit.SECONDS);
    if (call == null) {
      throw new AssertionError("no call came");
    }
    return call;
  }

  int waitingCalls() {
    return calls.size();
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  public CoordinatorCall call(
      MemberId member, SyncRequest request, Duration readTimeout, Duration connectTimeout) {
    Call[] self = new Call[1];
    Call call =
        new Call(
            request,
            readTimeout,
            () -> {
              calls.add(self[0]);
              Consumer<Call> each = script;
              if (each != null) {
                each.accept(self[0]);
              }
            });
    self[0] = call;
    return call;
  }

  @Override
  public boolean askAnother() {
    return false;
  }

  @Override
  public String address() {
    return "fake";
  }

  @Override
  public void close() {
    closed = true;
  }
}
