package io.pgsteward.testing;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Looks at {@code pg_stat_activity} again and again over one connection of the superuser, which is
 * itself among the connections it sees. Thread-safe.
 */
public final class ActivitySampler implements AutoCloseable {

  private static final String SQL =
      "SELECT usename, count(*) FROM pg_stat_activity"
          + " WHERE backend_type = 'client backend' AND usename IS NOT NULL GROUP BY usename";

  /**
   * One look.
   *
   * @param millis wall-clock time of this machine after it
   * @param byRole client backends by role; a role without any is left out
   */
  public record Sample(long millis, Map<String, Integer> byRole) {

    public Sample {
      byRole = Map.copyOf(byRole);
    }

    /** The backends of the roles that are wanted. */
    public int count(Predicate<String> wanted) {
      return byRole.entrySet().stream()
          .filter(role -> wanted.test(role.getKey()))
          .mapToInt(Map.Entry::getValue)
          .sum();
    }
  }

  private final Connection connection;
  private final long intervalNanos;

  /** Guarded by itself. */
  private final List<Sample> samples = new ArrayList<>();

  private final Thread thread;
  private volatile boolean closed;
  private volatile @Nullable SQLException failure;

  private ActivitySampler(Connection connection, Duration interval) {
    this.connection = connection;
    this.intervalNanos = interval.toNanos();
    this.thread = new Thread(this::run, "witness-sampler");
    thread.setDaemon(true);
  }

  /** Starts to look, the first time before this returns. */
  static ActivitySampler start(PostgresServer server, Duration interval) throws SQLException {
    ActivitySampler sampler = new ActivitySampler(server.connect(), interval);
    try (PreparedStatement look = sampler.connection.prepareStatement(SQL)) {
      sampler.look(look);
    }
    sampler.thread.start();
    return sampler;
  }

  private void run() {
    try (PreparedStatement look = connection.prepareStatement(SQL)) {
      long next = System.nanoTime();
      while (!closed) {
        next += intervalNanos;
        long wait = next - System.nanoTime();
        if (wait > 0) {
          TimeUnit.NANOSECONDS.sleep(wait);
        } else {
          next = System.nanoTime();
        }
        look(look);
      }
    } catch (SQLException e) {
      if (!closed) {
        failure = e;
      }
    } catch (InterruptedException closing) {
      // Only close() interrupts this thread.
    }
  }

  private void look(PreparedStatement statement) throws SQLException {
    Map<String, Integer> byRole = new HashMap<>();
    try (ResultSet rows = statement.executeQuery()) {
      while (rows.next()) {
        byRole.put(rows.getString(1), rows.getInt(2));
      }
    }
    Sample sample = new Sample(System.currentTimeMillis(), byRole);
    synchronized (samples) {
      samples.add(sample);
    }
  }

  /** All looks so far. */
  public List<Sample> samples() {
    failIfBlind();
    synchronized (samples) {
      return List.copyOf(samples);
    }
  }

  private void failIfBlind() {
    SQLException failed = failure;
    if (failed != null) {
      throw new IllegalStateException("the witness could not look at PostgreSQL", failed);
    }
  }

  /** The last look. */
  public Sample latest() {
    failIfBlind();
    synchronized (samples) {
      return samples.get(samples.size() - 1);
    }
  }

  /** The most backends of the wanted roles that one look has shown. */
  public Peak peak(Predicate<String> wanted) {
    return peak(wanted, Long.MIN_VALUE, Long.MAX_VALUE);
  }

  /** The most backends that one look from one moment to another has shown. */
  public Peak peak(Predicate<String> wanted, long fromMillis, long toMillis) {
    Peak peak = Peak.NONE;
    for (Sample sample : samples()) {
      if (sample.millis() >= fromMillis && sample.millis() <= toMillis) {
        int count = sample.count(wanted);
        if (count > peak.count()) {
          peak = new Peak(count, sample.millis());
        }
      }
    }
    return peak;
  }

  @Override
  public void close() throws SQLException {
    closed = true;
    thread.interrupt();
    connection.abort(Runnable::run);
  }
}
