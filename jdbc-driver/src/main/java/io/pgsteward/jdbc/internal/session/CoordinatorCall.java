package io.pgsteward.jdbc.internal.session;

import io.pgsteward.protocol.SyncResponse;

/** One sync that is sent at most once. Made by a {@link CoordinatorClient}. */
interface CoordinatorCall {

  /**
   * Sends the sync and waits for its answer, which may be parked. Blocks; called at most once.
   *
   * @throws CoordinatorException if there is no usable answer; of kind {@code CANCELLED} after
   *     {@link #cancel}
   */
  SyncResponse execute() throws CoordinatorException;

  /**
   * Gives the call up: {@link #execute} ends at once, and what may still come is dropped. When it
   * comes before that, nothing is sent. Returns at once; any thread; harmless when the call has
   * ended.
   */
  void cancel();
}
