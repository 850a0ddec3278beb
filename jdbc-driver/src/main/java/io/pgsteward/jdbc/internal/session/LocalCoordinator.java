package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.time.Duration;

/** The coordinator in this process. Until it is built, every tenant has its fallback slots. */
final class LocalCoordinator implements CoordinatorClient {

  @Override
  public CoordinatorCall call(
      MemberId member, SyncRequest request, Duration readTimeout, Duration connectTimeout) {
    return new CoordinatorCall() {
      @Override
      public SyncResponse execute() throws CoordinatorException {
        throw new CoordinatorException(
            Kind.REJECTED, "coordinator=local is not built yet", false, null);
      }

      @Override
      public void cancel() {
        // nothing is ever in flight
      }
    };
  }

  @Override
  public boolean askAnother() {
    return false;
  }

  @Override
  public String address() {
    return "local";
  }

  @Override
  public void close() {
    // nothing is held
  }
}
