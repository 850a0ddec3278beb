package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.TenantId;
import java.util.List;

/**
 * What one tenant of this member wants and holds, read in one moment. Immutable.
 *
 * @param demand slots it could use, as the maximum over a short window
 * @param waiting threads that wait now
 * @param longestWaitNanos how long the first of them has waited; 0 when none waits
 * @param inUse connections lent to the application; they are among {@code open}
 * @param pids backends of {@code open} and {@code closing}, as far as known
 */
record TenantFigures(
    TenantId tenant,
    int demand,
    int waiting,
    long longestWaitNanos,
    int opening,
    int open,
    int closing,
    int inUse,
    List<Integer> pids) {

  TenantFigures {
    pids = List.copyOf(pids);
  }

  int held() {
    return opening + open + closing;
  }

  boolean idle() {
    return demand == 0 && waiting == 0 && held() == 0;
  }
}
