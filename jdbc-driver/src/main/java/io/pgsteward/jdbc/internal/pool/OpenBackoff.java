package io.pgsteward.jdbc.internal.pool;

import java.sql.SQLException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * When a pool may try again to open a connection after an opening failed. All slots of the pool
 * share it, so that a wrong password or a stopped server is not asked once per slot and waiter.
 * After a failure one opening at a time is tried, until one succeeds. Pure: time and chance come
 * in. Guarded by the gate's lock.
 */
final class OpenBackoff {

  /** What a failed opening tells about the next one. */
  enum Kind {
    /** 53300: some limit is full. The place frees at any moment; try soon. */
    FULL(4, 100),
    /** The server or the way to it; may heal by itself. */
    TRANSIENT(20, 500),
    /** Wrong password, no such database, no right, a wrong setting: a person must act. */
    HOPELESS(100, 1_000);

    private final long firstMillis;
    private final long mostMillis;

    Kind(long firstMillis, long mostMillis) {
      this.firstMillis = firstMillis;
      this.mostMillis = mostMillis;
    }

    static Kind of(SQLException failure) {
      String state = failure.getSQLState();
      if (state == null) {
        return TRANSIENT;
      }
      if (state.equals("53300")) {
        return FULL;
      }
      boolean hopeless =
          state.startsWith("28") // wrong password, no such role, no entry in pg_hba.conf
              || state.equals("08004") // pgjdbc: no password given, TLS or its kind not to be had
              || state.equals("3D000") // no such database
              || state.startsWith("42") // no right to connect; a wrong connectionInitSql
              || state.startsWith("22"); // a setting that pgjdbc or PostgreSQL does not understand
      return hopeless ? HOPELESS : TRANSIENT;
    }
  }

  private final LongUnaryOperator below;
  private int failures;
  private long notBefore;
  private @Nullable SQLException lastFailure;
  private @Nullable Kind lastKind;

  OpenBackoff() {
    this(bound -> ThreadLocalRandom.current().nextLong(bound));
  }

  /**
   * @param below a random number from 0 to below the argument
   */
  OpenBackoff(LongUnaryOperator below) {
    this.below = below;
  }

  /** An opening failed. Several that fail together count as one. */
  void failed(SQLException failure, Kind kind, long now) {
    lastFailure = failure;
    boolean sameRound = lastKind != null && notBefore - now > 0;
    lastKind = kind;
    if (sameRound) {
      return;
    }
    long most = TimeUnit.MILLISECONDS.toNanos(kind.mostMillis);
    long delay = TimeUnit.MILLISECONDS.toNanos(kind.firstMillis) << Math.min(failures, 10);
    delay = Math.min(delay, most);
    failures++;
    notBefore = now + delay / 2 + below.applyAsLong(delay);
  }

  void succeeded() {
    failures = 0;
    lastFailure = null;
    lastKind = null;
  }

  /** Nanoseconds until the next opening may begin; 0 or less when it may now. */
  long waitNanos(long now) {
    return lastKind == null ? 0 : notBefore - now;
  }

  /** How many openings may run at once. */
  int atOnce() {
    return lastKind == null ? Integer.MAX_VALUE : 1;
  }

  /** The failure that nobody but a person can mend, while it is not worth trying again; or null. */
  @Nullable SQLException hopeless(long now) {
    return lastKind == Kind.HOPELESS && waitNanos(now) > 0 ? lastFailure : null;
  }

  /** Why the last opening failed; null if it succeeded. */
  @Nullable SQLException lastFailure() {
    return lastFailure;
  }
}
