package io.pgsteward.coordination;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.Observation;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The thread of a {@link ControlLoop} that talks to PostgreSQL, and so the only one that may block.
 * Does one job at a time and answers each with an {@link Event}. Takes the leader's lock again when
 * it is lost; while another coordinator has it, tries about once a second, so that a standby is
 * there soon after the lock is free. Thread-safe.
 */
final class Observer {

  private static final String INSUFFICIENT_PRIVILEGE = "42501";
  private static final long FIRST_RETRY_NANOS = 250_000_000;
  private static final long LONGEST_RETRY_NANOS = 5_000_000_000L;

  /** Time between two tries of a standby; at most a third of the lease. */
  private static final long STANDBY_NANOS = 1_000_000_000;

  /** What the thread is asked to do. */
  sealed interface Job {
    record Look() implements Job {}

    record SetLimits(Map<String, Integer> limits) implements Job {}
  }

  private final CoordinatorSettings settings;
  private final LeaderSession session;
  private final Ticker ticker;
  private final Consumer<Event> events;
  private final LinkedBlockingQueue<Job> jobs = new LinkedBlockingQueue<>();
  private final Thread thread;
  private volatile boolean closing;
  private volatile boolean leads;

  /**
   * @param events gets the answers; never blocks
   */
  Observer(
      CoordinatorSettings settings, LeaderSession session, Ticker ticker, Consumer<Event> events) {
    this.settings = settings;
    this.session = session;
    this.ticker = ticker;
    this.events = events;
    this.thread = new Thread(this::run, "pgsteward-observe-" + settings.instance());
    thread.setDaemon(true);
  }

  /**
   * Takes the leader's lock by the caller's thread, before {@link #start}.
   *
   * @param standsBy whether a leader with the same configuration is waited for
   * @throws SQLException if that cannot be and waiting does not mend it; the session is closed then
   */
  void lead(boolean standsBy) throws SQLException {
    try {
      events.accept(new Event.Led(session.lead()));
      leads = true;
      refuseWithoutLimits();
    } catch (LeadershipHeldException e) {
      if (!standsBy || !e.hasSameConfiguration()) {
        session.close();
        throw e;
      }
      events.accept(new Event.Followed(e));
    } catch (SQLException e) {
      if (!canHeal(e)) {
        session.close();
        throw e;
      }
      events.accept(new Event.LookFailed(e));
    }
  }

  /** {@code enforce: required} is a promise that a start must not break. */
  private void refuseWithoutLimits() throws SQLException {
    if (settings.enforce() != EnforceMode.REQUIRED) {
      return;
    }
    Observation.Roles roles = session.observe().roles();
    String obstacle = roles == null ? null : Enforcer.obstacle(settings.policies(), roles);
    if (obstacle != null) {
      throw new SQLException("enforce is required, but " + obstacle, INSUFFICIENT_PRIVILEGE);
    }
  }

  private static boolean canHeal(SQLException e) {
    String state = e.getSQLState();
    return state == null
        || !(state.startsWith("28") || state.equals("3D000") || state.startsWith("42"));
  }

  void start() {
    thread.start();
  }

  /** Whether it holds the leader's lock, as far as it knows. */
  boolean leads() {
    return leads;
  }

  /** Gives it a job; only when the one before has been answered. */
  void ask(Job job) {
    jobs.add(job);
  }

  /** Gives the lock back and ends the thread; waits for that as long. */
  void close(Duration within) throws InterruptedException {
    endNow();
    thread.join(within.toMillis());
  }

  /** As {@link #close}, without waiting. */
  void endNow() {
    closing = true;
    thread.interrupt();
    session.close();
  }

  private void run() {
    long retry = FIRST_RETRY_NANOS;
    while (!closing) {
      try {
        Job job = jobs.poll(100, TimeUnit.MILLISECONDS);
        if (job == null) {
          continue;
        }
        if (job instanceof Job.SetLimits set) {
          setLimits(set.limits());
          continue;
        }
        look();
        retry = FIRST_RETRY_NANOS;
      } catch (LeadershipHeldException e) {
        leads = false;
        events.accept(new Event.Followed(e));
        retry = FIRST_RETRY_NANOS;
        pause(standbyNanos());
      } catch (SQLException | RuntimeException e) {
        leads = session.isLeading();
        events.accept(new Event.LookFailed(e));
        pause(retry);
        retry = Math.min(2 * retry, LONGEST_RETRY_NANOS);
      } catch (InterruptedException e) {
        if (closing) {
          return;
        }
      }
    }
  }

  private void look() throws SQLException {
    if (!session.isLeading()) {
      leads = false;
      long epoch = session.lead();
      leads = true;
      events.accept(new Event.Led(epoch));
    }
    events.accept(new Event.Looked(session.observe()));
  }

  private void setLimits(Map<String, Integer> limits) {
    long started = ticker.nanos();
    try {
      session.setLimits(limits);
      events.accept(new Event.LimitsSet(limits, started));
    } catch (SQLException | RuntimeException e) {
      leads = session.isLeading();
      events.accept(new Event.LimitsFailed(limits, e));
    }
  }

  /** Never in step with another standby for long. */
  private long standbyNanos() {
    long nanos = Math.min(STANDBY_NANOS, settings.lease().toNanos() / 3);
    return nanos * 4 / 5 + ThreadLocalRandom.current().nextLong(nanos * 2 / 5);
  }

  private void pause(long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException e) {
      // Only close() interrupts this thread; the loop's condition sees it.
    }
  }
}
