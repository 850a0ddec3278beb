package io.pgsteward.server.http;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.Observation;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A leader's session on a PostgreSQL that is a few fields. Thread-safe by volatile fields. */
public final class InMemorySession implements LeaderSession {

  public static final int OWN_PID = 1;

  private final int maxConnections;
  private final List<Backend> backends =
      List.of(new Backend(OWN_PID, "pgsteward", "postgres", false));
  private volatile @Nullable SQLException failure;
  private volatile long epoch = 100;
  private volatile boolean leading;

  /**
   * @param budget what members share; the session's own connection takes one place more
   */
  public InMemorySession(int budget) {
    this.maxConnections = budget + 1;
  }

  /** From now on every statement fails like this. */
  public InMemorySession fails(SQLException with) {
    this.failure = with;
    return this;
  }

  /** From now on another coordinator has the lock. */
  public InMemorySession isHeldBy(String holder) {
    return fails(
        new LeadershipHeldException("coordinator " + holder + " leads", holder, holder, true));
  }

  /** Works again. */
  public void recovers() {
    failure = null;
  }

  @Override
  public long lead() throws SQLException {
    check();
    leading = true;
    long next = epoch + 1;
    epoch = next;
    return next;
  }

  @Override
  public Observation observe() throws SQLException {
    check();
    return new Observation(
        System.nanoTime(), new ServerLimits(maxConnections, 0, 0), backends, OWN_PID, true);
  }

  private void check() throws SQLException {
    SQLException now = failure;
    if (now != null) {
      leading = false;
      throw now;
    }
  }

  @Override
  public void setLimits(Map<String, Integer> limits) throws SQLException {
    throw new SQLException("this session has no roles", "42501");
  }

  @Override
  public boolean isLeading() {
    return leading;
  }

  @Override
  public void close() {
    leading = false;
  }
}
