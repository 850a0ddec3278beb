package io.pgsteward.jdbc.internal.session;

import io.pgsteward.coordination.ControlLoop;
import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/** The way to a control loop in the same process, which a test can cut. Thread-safe. */
final class LoopClient implements CoordinatorClient {

  private final ControlLoop loop;
  private final AtomicBoolean cut;

  /**
   * @param cut while true no call gets through
   */
  LoopClient(ControlLoop loop, AtomicBoolean cut) {
    this.loop = loop;
    this.cut = cut;
  }

  @Override
  public CoordinatorCall call(
      MemberId member, SyncRequest request, Duration readTimeout, Duration connectTimeout) {
    CompletableFuture<SyncResponse> end = new CompletableFuture<>();
    return new CoordinatorCall() {
      @Override
      public SyncResponse execute() throws CoordinatorException {
        if (cut.get()) {
          throw new CoordinatorException(Kind.UNREACHABLE, "cut by the test", false, null);
        }
        if (!end.isDone()) {
          loop.sync(member, request, "test")
              .whenComplete(
                  (answer, failure) -> {
                    if (failure == null) {
                      end.complete(answer);
                    } else {
                      end.completeExceptionally(failure);
                    }
                  });
        }
        try {
          return end.get(readTimeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
          if (e.getCause() instanceof CoordinatorException failure) {
            throw failure;
          }
          throw new CoordinatorException(Kind.UNREACHABLE, e.toString(), false, e);
        } catch (TimeoutException | InterruptedException e) {
          throw new CoordinatorException(Kind.UNREACHABLE, e.toString(), false, e);
        }
      }

      @Override
      public void cancel() {
        end.completeExceptionally(
            new CoordinatorException(Kind.CANCELLED, "cancelled", false, null));
      }
    };
  }

  @Override
  public boolean askAnother() {
    return false;
  }

  @Override
  public String address() {
    return "loop";
  }

  @Override
  public void close() {
    // the loop is the test's
  }
}
