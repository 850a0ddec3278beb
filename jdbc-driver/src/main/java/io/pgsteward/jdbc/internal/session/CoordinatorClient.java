package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.SyncRequest;
import java.time.Duration;

/**
 * The way to a coordinator: the seam to the transport. Calls are made and executed by one thread,
 * the others may cancel and close.
 */
interface CoordinatorClient extends AutoCloseable {

  /**
   * Prepares one sync.
   *
   * @param readTimeout longest wait for the answer: the longest parking and a third of the lease
   * @param connectTimeout longest wait for a connection to the coordinator
   */
  CoordinatorCall call(
      MemberId member, SyncRequest request, Duration readTimeout, Duration connectTimeout);

  /**
   * What was asked last answered, and its answer was of no use: another address is asked from now
   * on, if there is one.
   *
   * @return whether that address has not been tried since the last answer of use
   */
  boolean askAnother();

  /** Who is asked now, for people: an address, or {@code local}. Never holds a secret. */
  String address();

  /** Gives up what is held. A call in flight ends. Idempotent, never throws, any thread. */
  @Override
  void close();
}
