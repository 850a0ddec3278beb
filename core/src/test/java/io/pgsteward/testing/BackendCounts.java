package io.pgsteward.testing;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;

/**
 * How many backends there were at each moment, to the single connection. Pure and immutable.
 *
 * <p>Times are wall-clock milliseconds of the server's machine.
 */
public final class BackendCounts {

  private record Change(long order, long millis, int by) {}

  private record Step(long millis, int count) {}

  private final List<Step> steps;

  private BackendCounts(List<Step> steps) {
    this.steps = steps;
  }

  /** Counts the sessions that are wanted. */
  public static BackendCounts of(List<BackendSession> sessions, Predicate<BackendSession> wanted) {
    List<Change> changes = new ArrayList<>();
    for (BackendSession session : sessions) {
      if (wanted.test(session)) {
        changes.add(new Change(session.start(), session.startMillis(), 1));
        if (session.end() != Long.MAX_VALUE) {
          changes.add(new Change(session.end(), session.endMillis(), -1));
        }
      }
    }
    changes.sort(Comparator.comparingLong(Change::order));
    List<Step> steps = new ArrayList<>();
    int count = 0;
    for (Change change : changes) {
      count += change.by();
      steps.add(new Step(change.millis(), count));
    }
    return new BackendCounts(steps);
  }

  /** The peak of all time. */
  public Peak peak() {
    return peak(Long.MIN_VALUE, Long.MAX_VALUE);
  }

  /** The peak from one moment to another, both included. */
  public Peak peak(long fromMillis, long toMillis) {
    int before = at(fromMillis - 1);
    Peak peak = before == 0 ? Peak.NONE : new Peak(before, fromMillis);
    for (Step step : steps) {
      if (step.millis() >= fromMillis && step.millis() <= toMillis && step.count() > peak.count()) {
        peak = new Peak(step.count(), step.millis());
      }
    }
    return peak;
  }

  /** How many there were after everything that happened up to this moment. */
  public int at(long millis) {
    int count = 0;
    for (Step step : steps) {
      if (step.millis() > millis) {
        break;
      }
      count = step.count();
    }
    return count;
  }

  /** How many connections were begun from one moment to another, both included. */
  public int begun(long fromMillis, long toMillis) {
    int begun = 0;
    int last = 0;
    for (Step step : steps) {
      if (step.count() > last && step.millis() >= fromMillis && step.millis() <= toMillis) {
        begun++;
      }
      last = step.count();
    }
    return begun;
  }

  /**
   * Every moment at which there were more than allowed.
   *
   * <p>Allowed is the budget in force. When it falls below what there is, then what there was at
   * that moment is allowed, and from then on never more than what is left: no connection may be
   * replaced until they fit.
   *
   * @param graceMillis how long after a fall of the budget a connection may still begin that was
   *     under way when it fell, within the budget before
   */
  public List<Excess> above(BudgetTimeline budget, long graceMillis) {
    Judge judge = new Judge(budget, graceMillis);
    for (Step step : steps) {
      judge.step(step);
    }
    return judge.found;
  }

  /**
   * More backends than allowed.
   *
   * @param millis when
   * @param count how many there were
   * @param allowed how many could be
   */
  public record Excess(long millis, int count, int allowed) {}

  private static final class Judge {
    private final List<BudgetTimeline.Entry> entries;
    private final long graceMillis;
    private final List<Excess> found = new ArrayList<>();
    private int next;
    private int budget = Integer.MAX_VALUE;
    private int ceiling = Integer.MAX_VALUE;
    private int count;
    private int grace = Integer.MAX_VALUE;
    private long graceEnd = Long.MIN_VALUE;

    Judge(BudgetTimeline timeline, long graceMillis) {
      this.entries = timeline.entries();
      this.graceMillis = graceMillis;
    }

    void step(Step step) {
      while (next < entries.size() && entries.get(next).millis() <= step.millis()) {
        budgetBecomes(entries.get(next++));
      }
      boolean rises = step.count() > count;
      count = step.count();
      int allowed = step.millis() <= graceEnd ? Math.max(ceiling, grace) : ceiling;
      if (rises && count > allowed) {
        found.add(new Excess(step.millis(), count, allowed));
      }
      if (step.millis() > graceEnd) {
        ceiling = Math.max(budget, Math.min(ceiling, count));
      } else {
        ceiling = Math.max(budget, count);
      }
    }

    private void budgetBecomes(BudgetTimeline.Entry entry) {
      if (entry.budget() < budget && budget != Integer.MAX_VALUE) {
        grace = Math.max(ceiling, budget);
        graceEnd = entry.millis() + graceMillis - 1;
      }
      budget = entry.budget();
      ceiling = Math.max(budget, count);
    }
  }
}
