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
   * Ends the call, also when it comes before {@link #execute}: then nothing is sent. Returns at
   * once; any thread; harmless when the call has ended.
   */
  void cancel();
}
