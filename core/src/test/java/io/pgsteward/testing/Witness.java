package io.pgsteward.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Judges from PostgreSQL's side alone how many connections the managed roles had. It asks two
 * sources that know nothing of PgSteward: the server's log of connections, which misses none, and
 * {@code pg_stat_activity} every 20 ms, which needs no log. Thread-safe.
 *
 * <p>Its own connection is one of the superuser, and so foreign to a coordinator.
 */
public final class Witness implements AutoCloseable {

  private static final Duration INTERVAL = Duration.ofMillis(20);

  private final PostgresServer server;
  private final Predicate<String> managed;
  private final ActivitySampler sampler;

  private Witness(PostgresServer server, Predicate<String> managed, ActivitySampler sampler) {
    this.server = server;
    this.managed = managed;
    this.sampler = sampler;
  }

  /**
   * Begins to watch.
   *
   * @param managed whether a role's connections count
   */
  public static Witness watch(PostgresServer server, Predicate<String> managed)
      throws SQLException {
    return new Witness(server, managed, ActivitySampler.start(server, INTERVAL));
  }

  /** What the log says of all managed roles, up to now. Reads the whole log. */
  public BackendCounts counted() {
    return BackendCounts.of(sessions(), session -> managed.test(session.role()));
  }

  /** What the log says of one role, up to now. Reads the whole log. */
  public BackendCounts counted(String role) {
    return BackendCounts.of(sessions(), session -> session.role().equals(role));
  }

  /** The peak of all managed roles by the server's log. */
  public Peak countedPeak() {
    return counted().peak();
  }

  /** The peak of all managed roles as seen in {@code pg_stat_activity}. */
  public Peak sampledPeak() {
    return sampler.peak(managed);
  }

  /** The looks at {@code pg_stat_activity}. */
  public ActivitySampler sampler() {
    return sampler;
  }

  /** Managed backends in the last look. */
  public int sampledNow() {
    return sampler.latest().count(managed);
  }

  /** Every session that the log tells of, of whatever role. */
  public List<BackendSession> sessions() {
    try (Stream<String> lines = Files.lines(server.log())) {
      return ConnectionLog.read(lines);
    } catch (IOException e) {
      throw new UncheckedIOException("the server's log cannot be read", e);
    }
  }

  @Override
  public void close() throws SQLException {
    sampler.close();
  }
}
