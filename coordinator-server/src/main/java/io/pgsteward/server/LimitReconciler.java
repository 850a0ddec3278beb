package io.pgsteward.server;

import io.pgsteward.enforcement.LimitBook;
import io.pgsteward.enforcement.LimitPlanner;
import io.pgsteward.enforcement.LimitPlanner.Changes;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.Observation;
import io.pgsteward.server.config.InstanceConfig;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Brings the connection limits of an instance to what they should be for what PostgreSQL shows:
 * looks, sends lowerings, looks again, sends raisings as far as the counts allow, and so on until a
 * look asks for no change. Between any two statements the limits keep rule S4, so it may end
 * anywhere. Not thread-safe.
 */
final class LimitReconciler {

  /** One round lowers, one raises, one reads back; more are needed when connections come and go. */
  private static final int MOST_LOOKS = 12;

  /** Whose limits are changed. */
  interface Target {

    Observation look() throws SQLException;

    void set(Map<String, Integer> limits) throws SQLException;
  }

  /**
   * What came of it.
   *
   * @param obstacles why nothing was tried; empty if it was
   * @param first what the first look showed
   * @param last what the last look showed
   * @param changed limits that were sent, by role; the last one of each
   * @param settled whether the last look asked for no change
   * @param otherHand roles whose limit was found to be another than the one that was sent
   */
  record Outcome(
      List<String> obstacles,
      Sight first,
      Sight last,
      Map<String, Integer> changed,
      boolean settled,
      TreeSet<String> otherHand) {}

  private final InstanceConfig instance;
  private final Target target;
  private final Ticker ticker;
  private final LimitBook book = new LimitBook();
  private final Map<String, Integer> changed = new TreeMap<>();
  private final TreeSet<String> otherHand = new TreeSet<>();

  /**
   * @param ticker the clock of the looks
   */
  LimitReconciler(InstanceConfig instance, Target target, Ticker ticker) {
    this.instance = instance;
    this.target = target;
    this.ticker = ticker;
  }

  /**
   * Changes what is to be changed.
   *
   * @throws SQLException if a look or a change failed; nothing was sent after it
   */
  Outcome run() throws SQLException {
    Sight first = look();
    List<String> obstacles = first.obstacles();
    Sight sight = first;
    boolean settled = false;
    for (int looks = 1; obstacles.isEmpty() && looks < MOST_LOOKS; looks++) {
      Map<String, Integer> next = next(sight);
      if (next.isEmpty() && !book.awaitsProof()) {
        settled = true;
        break;
      }
      if (!next.isEmpty()) {
        send(next);
      }
      sight = look();
    }
    return new Outcome(obstacles, first, sight, changed, settled, otherHand);
  }

  private Sight look() throws SQLException {
    Sight sight = Sight.of(instance, target.look());
    otherHand.addAll(
        book.observed(
            sight.limits(), sight.seen(), sight.look().startedNanos(), sight.roles().endedNanos()));
    return sight;
  }

  /** Lowerings alone, so that one that fails leaves every limit where it was. */
  private Map<String, Integer> next(Sight sight) {
    Changes changes = LimitPlanner.plan(sight.budget().total(), book, sight.needs());
    return changes.lowerings().isEmpty() ? changes.raisings() : changes.lowerings();
  }

  private void send(Map<String, Integer> limits) throws SQLException {
    book.attempting(limits);
    target.set(limits);
    book.committed(limits, ticker.nanos());
    changed.putAll(limits);
  }
}
