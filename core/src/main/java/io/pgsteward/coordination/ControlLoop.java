package io.pgsteward.coordination;

import io.pgsteward.ledger.Ledger;
import io.pgsteward.ledger.Member;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.CoordinatorPhase;
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

  private static final Duration CLOSE_WITHIN = Duration.ofSeconds(5);

  /** A call that is kept open until something changes. */
  private record Parked(CompletableFuture<SyncResponse> reply, long sequence, long untilNanos) {}

  private final CoordinatorSettings settings;
  private final Ticker ticker;
  private final ControlLoopListener listener;
  private final LinkedBlockingQueue<Event> events = new LinkedBlockingQueue<>();
  private final Thread control;
  private final Observer observer;
  private final long proofNanos;
  private final CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
  private volatile boolean closing;

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
    this.ticker = ticker;
    this.listener = listener;
    this.coordinator = new Coordinator(settings);
    this.told = new Announcements(listener);
    this.observer = new Observer(settings, session, ticker, events::add);
    this.proofNanos = settings.lease().toNanos() * 2 / 3;
    this.control = new Thread(this::control, "pgsteward-control-" + settings.instance());
    control.setDaemon(true);
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
    start(false);
  }

  /**
   * Takes the leader's lock and starts, or starts as a standby: while another coordinator with the
   * same configuration leads, members are refused and sent there, and the lock is tried for about
   * once a second. Blocks for one try to connect.
   *
   * @throws LeadershipHeldException if the one that leads runs with another configuration; nothing
   *     was started
   * @throws SQLException as {@link #start}
   */
  public void startOrStandBy() throws SQLException {
    start(true);
  }

  private void start(boolean standsBy) throws SQLException {
    observer.lead(standsBy);
    control.start();
    observer.start();
  }

  /** Whether it holds the leader's lock, as far as it knows. */
  public boolean leads() {
    return observer.leads();
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
    try {
      if (control.getState() != Thread.State.NEW) {
        control.join(CLOSE_WITHIN.toMillis());
      }
      observer.close(CLOSE_WITHIN);
    } catch (InterruptedException e) {
      observer.endNow();
      Thread.currentThread().interrupt();
    }
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
        looked(looked.look(), now);
      } else if (event instanceof Event.LookFailed failed) {
        busy = false;
        lookFailed(failed.cause());
      } else if (event instanceof Event.Led led) {
        coordinator.lead(led.epoch(), now);
        begun = led;
      } else if (event instanceof Event.Followed followed) {
        busy = false;
        told.reached();
        coordinator.follow(followed.held().holder(), followed.held().address());
        listener.leadershipHeldBy(followed.held());
      } else if (event instanceof Event.LimitsSet set) {
        busy = false;
        limitsSet(set, now);
      } else if (event instanceof Event.LimitsFailed failed) {
        busy = false;
        limitsFailed(failed.limits(), failed.cause(), now);
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

  private void looked(Observation look, long now) {
    if (isLate(look.startedNanos(), now)) {
      lookFailed(late(look.startedNanos(), now));
      return;
    }
    told.looked(look);
    coordinator.observed(look);
  }

  private void lookFailed(Exception cause) {
    coordinator.observationFailed(String.valueOf(cause.getMessage()));
    told.lookFailed(cause);
  }

  private void limitsSet(Event.LimitsSet set, long now) {
    if (isLate(set.startedNanos(), now)) {
      limitsFailed(set.limits(), late(set.startedNanos(), now), now);
      return;
    }
    coordinator.limitsSet(set.limits(), now);
    listener.limitsSet(set.limits());
  }

  private void limitsFailed(Map<String, Integer> limits, Exception cause, long now) {
    coordinator.limitsFailed(limits, String.valueOf(cause.getMessage()), now);
    listener.limitsFailed(limits, cause);
  }

  /**
   * Whether a statement proves no longer that this coordinator leads. PostgreSQL ends the session
   * when it is idle for two thirds of the lease, so a process that was stopped meanwhile and wakes
   * with an answer in its hands may find that another one leads.
   */
  private boolean isLate(long startedNanos, long now) {
    return now - startedNanos >= proofNanos;
  }

  private static Exception late(long startedNanos, long now) {
    return new IllegalStateException(
        "PostgreSQL's answer was taken in after "
            + TimeUnit.NANOSECONDS.toMillis(now - startedNanos)
            + " ms, more than two thirds of the lease: PostgreSQL is slow or this process was"
            + " stopped");
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
    if (coordinator.phase() == CoordinatorPhase.STANDBY) {
      // It led when these calls came, and now another one does.
      syncs.forEach(sync -> sync.reply().completeExceptionally(coordinator.notLeading()));
      parked.values().forEach(of -> of.reply().completeExceptionally(coordinator.notLeading()));
      parked.clear();
      return;
    }
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
      observer.ask(new Observer.Job.SetLimits(limits));
    } else if (now - nextLook(now) >= 0) {
      busy = true;
      lookAskedNanos = now;
      observer.ask(new Observer.Job.Look());
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
