package io.pgsteward.coordination;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.ledger.Ledger;
import io.pgsteward.ledger.Member;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs one {@link Coordinator}: observe, decide, (enforce,) answer. The coordinator jar and {@code
 * coordinator=local} run the same loop.
 *
 * <p>Two daemon threads. {@code pgsteward-control-<instance>} is the only one that touches the
 * coordinator: everything else reaches it as an event in a queue, so there is no lock. {@code
 * pgsteward-observe-<instance>} is the only one that talks to PostgreSQL and so the only one that
 * may block. Public methods may be called from any thread and never block, except {@link #start}
 * and {@link #close}.
 */
public final class ControlLoop implements AutoCloseable {

  /** How often time alone may change something: rotation, and the end of leases. */
  private static final long TICK_NANOS = 100_000_000;

  /** Looks asked for out of turn are at least this far apart. */
  private static final long LOOK_SPACING_NANOS = 5_000_000;

  private static final String INSUFFICIENT_PRIVILEGE = "42501";

  private static final Duration CLOSE_WITHIN = Duration.ofSeconds(5);
  private static final long FIRST_RETRY_NANOS = 250_000_000;
  private static final long LONGEST_RETRY_NANOS = 5_000_000_000L;

  /** What reaches the control thread. */
  private sealed interface Event {
    record Sync(
        MemberId member, SyncRequest request, String address, CompletableFuture<SyncResponse> reply)
        implements Event {}

    record Led(long epoch) implements Event {}

    record Followed(String leader) implements Event {}

    record Looked(Observation look) implements Event {}

    record LookFailed(Exception cause) implements Event {}

    record LimitsSet(Map<String, Integer> limits) implements Event {}

    record LimitsFailed(Map<String, Integer> limits, Exception cause) implements Event {}

    record Status(CompletableFuture<InstanceStatus> reply) implements Event {}

    record Close() implements Event {}

    /** Whether the observer's thread has no job any more. */
    default boolean endsJob() {
      return this instanceof Looked
          || this instanceof LookFailed
          || this instanceof Followed
          || this instanceof LimitsSet
          || this instanceof LimitsFailed;
    }
  }

  /** What the observer's thread is asked to do; one at a time. */
  private sealed interface Job {
    record Look() implements Job {}

    record SetLimits(Map<String, Integer> limits) implements Job {}
  }

  /** A call that is kept open until something changes. */
  private record Parked(CompletableFuture<SyncResponse> reply, long sequence, long untilNanos) {}

  private final CoordinatorSettings settings;
  private final LeaderSession session;
  private final Ticker ticker;
  private final ControlLoopListener listener;
  private final LinkedBlockingQueue<Event> events = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<Job> jobs = new LinkedBlockingQueue<>();
  private final Thread control;
  private final Thread observer;
  private final CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
  private volatile boolean closing;
  private volatile boolean leads;

  // Below: touched by the control thread alone.
  private final Coordinator coordinator;
  private final Map<MemberId, Parked> parked = new HashMap<>();
  private Event.@Nullable Led begun; // in this round
  private final Announcements told;
  private boolean busy; // the observer has a job
  private long lookAskedNanos;

  public ControlLoop(
      CoordinatorSettings settings,
      LeaderSession session,
      Ticker ticker,
      ControlLoopListener listener) {
    this.settings = settings;
    this.session = session;
    this.ticker = ticker;
    this.listener = listener;
    this.coordinator = new Coordinator(settings);
    this.told = new Announcements(listener);
    this.control = thread("control", this::control);
    this.observer = thread("observe", this::observe);
  }

  private Thread thread(String job, Runnable body) {
    Thread thread = new Thread(body, "pgsteward-" + job + "-" + settings.instance());
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Takes the leader's lock and starts. Blocks for one try to connect.
   *
   * @throws LeadershipHeldException if another coordinator leads; nothing was started
   * @throws SQLException if PostgreSQL refused for a reason that waiting does not mend (wrong
   *     password, no such database, a missing right); nothing was started. If PostgreSQL cannot be
   *     reached the loop starts all the same, in phase STANDBY, and keeps trying
   */
  public void start() throws SQLException {
    try {
      events.add(new Event.Led(session.lead()));
      leads = true;
      refuseWithoutLimits();
    } catch (SQLException e) {
      if (e instanceof LeadershipHeldException || !canHeal(e)) {
        session.close();
        throw e;
      }
      events.add(new Event.LookFailed(e));
    }
    control.start();
    observer.start();
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

  /** Whether it holds the leader's lock, as far as it knows. */
  public boolean leads() {
    return leads;
  }

  /**
   * Hands in a member's snapshot.
   *
   * @param address where it came from, for people
   * @return the answer; it comes at once, or when the member's grants change, or after the park
   *     time. Fails with {@link SyncRefusedException}
   */
  public CompletableFuture<SyncResponse> sync(
      MemberId member, SyncRequest request, String address) {
    CompletableFuture<SyncResponse> reply = new CompletableFuture<>();
    if (closing) {
      reply.completeExceptionally(stopping());
      return reply;
    }
    events.add(new Event.Sync(member, request, address, reply));
    if (closing && closed.isDone()) {
      reply.completeExceptionally(stopping());
    }
    return reply;
  }

  /** The instance as this coordinator sees it now. */
  public CompletableFuture<InstanceStatus> status() {
    CompletableFuture<InstanceStatus> reply = new CompletableFuture<>();
    events.add(new Event.Status(reply));
    if (closed.isDone()) {
      reply.completeExceptionally(new IllegalStateException("the coordinator has stopped"));
    }
    return reply;
  }

  /**
   * Stops: refuses new calls, answers the parked ones, gives the leader's lock back, ends the
   * threads. Waits for that for some seconds at most. Idempotent.
   */
  @Override
  public void close() {
    closing = true;
    events.add(new Event.Close());
    if (control.getState() == Thread.State.NEW) {
      session.close();
      return;
    }
    try {
      control.join(CLOSE_WITHIN.toMillis());
      observer.interrupt();
      session.close();
      observer.join(CLOSE_WITHIN.toMillis());
    } catch (InterruptedException e) {
      session.close();
      Thread.currentThread().interrupt();
    }
  }

  // ---- the observer's thread

  private void observe() {
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
        events.add(new Event.Followed(e.holder()));
        retry = pause(retry);
      } catch (SQLException | RuntimeException e) {
        leads = session.isLeading();
        events.add(new Event.LookFailed(e));
        retry = pause(retry);
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
      events.add(new Event.Led(epoch));
    }
    events.add(new Event.Looked(session.observe()));
  }

  private void setLimits(Map<String, Integer> limits) {
    try {
      session.setLimits(limits);
      events.add(new Event.LimitsSet(limits));
    } catch (SQLException | RuntimeException e) {
      leads = session.isLeading();
      events.add(new Event.LimitsFailed(limits, e));
    }
  }

  private long pause(long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException e) {
      // Only close() interrupts this thread; the loop's condition sees it.
      return nanos;
    }
    return Math.min(2 * nanos, LONGEST_RETRY_NANOS);
  }

  // ---- the control thread

  private void control() {
    List<Event> batch = new ArrayList<>();
    boolean stop = false;
    while (!stop) {
      try {
        Event first = events.poll(waitNanos(), TimeUnit.NANOSECONDS);
        if (first != null) {
          batch.add(first);
          events.drainTo(batch);
        }
        stop = round(batch);
        batch.clear();
      } catch (InterruptedException e) {
        stop = closing;
      } catch (RuntimeException e) {
        giveUp(batch, e);
        stop = closing;
      }
    }
    shutDown();
  }

  private boolean round(List<Event> batch) {
    begun = null;
    long now = ticker.nanos();
    boolean stop = false;
    List<CompletableFuture<InstanceStatus>> statuses = new ArrayList<>();
    List<Event.Sync> syncs = new ArrayList<>();
    for (Event event : batch) {
      if (event instanceof Event.Sync sync) {
        if (take(sync, now)) {
          syncs.add(sync);
        }
      } else if (event instanceof Event.Looked looked) {
        busy = false;
        told.looked(looked.look());
        coordinator.observed(looked.look());
      } else if (event instanceof Event.LookFailed failed) {
        busy = false;
        coordinator.observationFailed(String.valueOf(failed.cause().getMessage()));
        told.lookFailed(failed.cause());
      } else if (event instanceof Event.Led led) {
        coordinator.lead(led.epoch(), now);
        begun = led;
      } else if (event instanceof Event.Followed followed) {
        busy = false;
        coordinator.follow(followed.leader());
        listener.leadershipHeldBy(followed.leader());
      } else if (event instanceof Event.LimitsSet set) {
        busy = false;
        coordinator.limitsSet(set.limits(), now);
        listener.limitsSet(set.limits());
      } else if (event instanceof Event.LimitsFailed failed) {
        busy = false;
        coordinator.limitsFailed(failed.limits(), String.valueOf(failed.cause().getMessage()), now);
        listener.limitsFailed(failed.limits(), failed.cause());
      } else if (event instanceof Event.Status status) {
        statuses.add(status.reply());
      } else {
        stop = true;
      }
    }
    List<Member> dropped = coordinator.decide(now);
    answer(syncs, now);
    told.changes(coordinator, dropped);
    statuses.forEach(reply -> reply.complete(coordinator.status(now)));
    giveJob(now);
    return stop;
  }

  /**
   * A round that failed leaves nobody waiting for it, and the next look is asked for again. A term
   * that it did not come to begin stays in the batch: looks must not count before it.
   */
  private void giveUp(List<Event> batch, RuntimeException cause) {
    for (Event event : batch) {
      busy &= !event.endsJob();
      if (event instanceof Event.Sync sync) {
        sync.reply().completeExceptionally(cause);
      } else if (event instanceof Event.Status status) {
        status.reply().completeExceptionally(cause);
      }
    }
    batch.removeIf(event -> !(event instanceof Event.Led) || event.equals(begun));
    listener.failed(cause);
  }

  private boolean take(Event.Sync sync, long now) {
    try {
      Ledger.Taken taken = coordinator.sync(sync.member(), sync.request(), sync.address(), now);
      if (taken == Ledger.Taken.JOINED) {
        listener.memberJoined(sync.member(), sync.request().name(), sync.address());
      }
      return true;
    } catch (SyncRefusedException e) {
      sync.reply().completeExceptionally(e);
      return false;
    } catch (RuntimeException e) {
      sync.reply().completeExceptionally(e);
      listener.failed(e);
      return false;
    }
  }

  private void answer(List<Event.Sync> syncs, long now) {
    for (Event.Sync sync : syncs) {
      long sequence = sync.request().sequence();
      Parked other = parked.get(sync.member());
      if (other != null && other.sequence() <= sequence) {
        endParked(sync.member()); // the member has given it up for this one
      }
      if (coordinator.answersAtOnce(sync.member(), sync.request())) {
        sync.reply().complete(coordinator.answer(sync.member()));
      } else {
        long until = now + settings.park().toNanos();
        parked.put(sync.member(), new Parked(sync.reply(), sequence, until));
      }
    }
    coordinator.drainChanged().forEach(this::endParked);
    parked
        .entrySet()
        .removeIf(
            entry -> {
              if (entry.getValue().reply().isDone()) {
                return true;
              }
              if (now - entry.getValue().untilNanos() < 0) {
                return false;
              }
              entry.getValue().reply().complete(coordinator.answer(entry.getKey()));
              return true;
            });
  }

  private void endParked(MemberId member) {
    Parked call = parked.remove(member);
    if (call != null) {
      call.reply().complete(coordinator.answer(member));
    }
  }

  /** New limits before a look: what they lower is to be proven by it. */
  private void giveJob(long now) {
    if (busy || closing) {
      return;
    }
    Map<String, Integer> limits = coordinator.takeLimitChanges();
    if (!limits.isEmpty()) {
      busy = true;
      jobs.add(new Job.SetLimits(limits));
    } else if (now - nextLook(now) >= 0) {
      busy = true;
      lookAskedNanos = now;
      jobs.add(new Job.Look());
    }
  }

  private long nextLook(long now) {
    long next = coordinator.nextLookNanos(now);
    long soonest =
        lookAskedNanos
            + (told.lookFails() ? settings.observeEvery().toNanos() : LOOK_SPACING_NANOS);
    return lookAskedNanos != 0 && next - soonest < 0 ? soonest : next;
  }

  private long waitNanos() {
    long now = ticker.nanos();
    long wait = TICK_NANOS;
    if (!busy) {
      wait = Math.min(wait, nextLook(now) - now);
    }
    for (Parked call : parked.values()) {
      wait = Math.min(wait, call.untilNanos() - now);
    }
    return Math.max(0, wait);
  }

  private void shutDown() {
    List<Event> rest = new ArrayList<>();
    closed.complete(null);
    events.drainTo(rest);
    for (Event event : rest) {
      if (event instanceof Event.Sync sync) {
        sync.reply().completeExceptionally(stopping());
      } else if (event instanceof Event.Status status) {
        status.reply().completeExceptionally(new IllegalStateException("the coordinator stopped"));
      }
    }
    parked.forEach((member, call) -> call.reply().complete(coordinator.answer(member)));
    parked.clear();
  }

  private SyncRefusedException stopping() {
    return new SyncRefusedException(
        SyncRefusal.CLOSING,
        "the coordinator of instance " + settings.instance() + " is stopping; try again",
        null);
  }
}
