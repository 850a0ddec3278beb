package io.pgsteward.coordination;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.Observation;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A PostgreSQL in memory that can be away, or led by another. Thread-safe. */
final class FakeLeaderSession implements LeaderSession {

  final List<Backend> backends = new CopyOnWriteArrayList<>();
  final AtomicInteger looks = new AtomicInteger();
  volatile int maxConnections;
  volatile @Nullable SQLException away;
  volatile @Nullable String holder;
  volatile boolean otherConfiguration;

  /** How long ago a look that is answered now began. */
  volatile long answersAfterNanos;

  volatile boolean closed;
  volatile long epoch = 11;
  private volatile boolean leading;

  FakeLeaderSession(int budget) {
    maxConnections = budget + 1;
    backends.add(new Backend(1, "pgsteward", "postgres", false));
  }

  @Override
  public synchronized long lead() throws SQLException {
    if (away != null) {
      throw away;
    }
    if (holder != null) {
      throw new LeadershipHeldException("led by " + holder, holder, holder, !otherConfiguration);
    }
    leading = true;
    long given = epoch;
    epoch = given + 1;
    return given;
  }

  @Override
  public Observation observe() throws SQLException {
    long started = Ticker.system().nanos();
    if (away != null) {
      leading = false;
      throw away;
    }
    looks.incrementAndGet();
    return new Observation(
        started - answersAfterNanos,
        new ServerLimits(maxConnections, 0, 0),
        List.copyOf(backends),
        1,
        true);
  }

  @Override
  public void setLimits(Map<String, Integer> limits) throws SQLException {
    if (away != null) {
      leading = false;
      throw away;
    }
    throw new SQLException("this session has no roles", "42501");
  }

  @Override
  public boolean isLeading() {
    return leading;
  }

  @Override
  public void close() {
    leading = false;
    closed = true;
  }
}
