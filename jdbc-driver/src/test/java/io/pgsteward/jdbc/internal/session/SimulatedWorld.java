package io.pgsteward.jdbc.internal.session;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.coordination.Coordinator;
import io.pgsteward.coordination.CoordinatorSettings;
import io.pgsteward.coordination.SyncRefusedException;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * PostgreSQL, a network, members and the real coordinator under virtual time, all from one seed.
 * Members bring the real {@link GrantBook} and {@link Reports}; the coordinator is the real {@link
 * Coordinator}, driven as the control loop drives it, without enforcement. One thread.
 */
final class SimulatedWorld {

  static final Duration LEASE = Duration.ofSeconds(3);
  static final long PARK_NANOS = LEASE.toNanos() / 3;
  static final String ROLE = "web";

  final Random random;
  final List<SimulatedMember> members = new ArrayList<>();
  final TreeSet<Integer> backends = new TreeSet<>();
  private final int budget;
  private final boolean lossy;
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final Map<MemberId, Parked> parked = new HashMap<>();
  private long now = 1_000_000_000L;
  private long order;
  private int nextPid = 100;
  private long epoch = 10;
  private int mostBackends;
  private @Nullable Coordinator coordinator;
  private boolean looking;

  private record Event(long at, long order, Runnable what) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(at, other.at);
      return byTime != 0 ? byTime : Long.compare(order, other.order);
    }
  }

  private record Parked(long until, Consumer<SyncResponse> reply) {}

  /**
   * @param lossy whether messages are lost, and are late by up to a third of the lease
   */
  SimulatedWorld(long seed, int budget, int memberCount, boolean lossy) {
    this.random = new Random(seed);
    this.budget = budget;
    this.lossy = lossy;
    startCoordinator(false);
    for (int i = 0; i < memberCount; i++) {
      SimulatedMember member = new SimulatedMember(this, new MemberId("member-" + i));
      members.add(member);
      after(millis(random.nextInt(500)), member::start);
    }
    tick();
  }

  static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  long now() {
    return now;
  }

  boolean isLossy() {
    return lossy;
  }

  int between(int least, int most) {
    return least + random.nextInt(most - least + 1);
  }

  void after(long nanos, Runnable what) {
    events.add(new Event(now + nanos, order++, what));
  }

  void run(Duration time) {
    long end = now + time.toNanos();
    while (true) {
      Event next = events.peek();
      if (next == null || next.at() > end) {
        break;
      }
      events.remove();
      now = next.at();
      next.what().run();
      check();
    }
    now = end;
  }

  private void check() {
    if (coordinator != null) {
      coordinator.checkInvariants();
    }
  }

  // ---- PostgreSQL

  int login() {
    backends.add(nextPid);
    mostBackends = Math.max(mostBackends, backends.size());
    return nextPid++;
  }

  void logout(int pid) {
    backends.remove(pid);
  }

  int mostBackends() {
    return mostBackends;
  }

  // ---- the coordinator's process

  void crash(long downNanos) {
    coordinator = null;
    parked.clear();
    after(downNanos, () -> startCoordinator(true));
  }

  private void startCoordinator(boolean learns) {
    Coordinator fresh =
        new Coordinator(
            new CoordinatorSettings(
                new InstanceId("main"),
                LEASE,
                LEASE.dividedBy(3),
                Duration.ofMillis(500),
                0,
                PolicyBook.ofRole(ROLE),
                learns,
                EnforceMode.OFF));
    fresh.lead(++epoch, now);
    coordinator = fresh;
    looking = false;
  }

  /** A request reaches the coordinator; without one it is refused at once. */
  void arrives(
      SimulatedMember from, SyncRequest request, Consumer<SyncResponse> answer, Runnable refused) {
    Coordinator leader = coordinator;
    if (leader == null) {
      refused.run();
      return;
    }
    try {
      leader.sync(from.id(), request, "sim", now);
    } catch (SyncRefusedException e) {
      refused.run();
      return;
    }
    leader.decide(now);
    if (leader.answersAtOnce(from.id(), request)) {
      answer.accept(leader.answer(from.id()));
    } else {
      Parked older = parked.put(from.id(), new Parked(now + PARK_NANOS, answer));
      if (older != null) {
        older.reply().accept(leader.answer(from.id()));
      }
    }
    round(leader);
  }

  private void tick() {
    after(millis(50), this::tick);
    if (coordinator != null) {
      coordinator.decide(now);
      round(coordinator);
    }
  }

  private void round(Coordinator leader) {
    for (MemberId changed : leader.drainChanged()) {
      Parked call = parked.remove(changed);
      if (call != null) {
        call.reply().accept(leader.answer(changed));
      }
    }
    List<MemberId> over = new ArrayList<>();
    parked.forEach(
        (member, call) -> {
          if (call.until() <= now) {
            over.add(member);
          }
        });
    for (MemberId member : over) {
      Parked call = parked.remove(member);
      if (call != null) {
        call.reply().accept(leader.answer(member));
      }
    }
    if (!looking && leader.nextLookNanos(now) <= now) {
      look(leader);
    }
  }

  /** The look sees one moment between its beginning and its end. */
  private void look(Coordinator by) {
    looking = true;
    long began = now;
    long until = millis(between(0, 8));
    long rest = millis(between(0, 8));
    after(
        until,
        () -> {
          List<Backend> seen = new ArrayList<>();
          seen.add(new Backend(1, "steward", "postgres", false));
          backends.forEach(pid -> seen.add(new Backend(pid, ROLE, "shop", false)));
          Observation look =
              new Observation(began, new ServerLimits(budget + 1, 0, 0), seen, 1, true);
          after(rest, () -> looked(by, look));
        });
  }

  private void looked(Coordinator by, Observation look) {
    if (by != coordinator) {
      return; // it crashed meanwhile
    }
    looking = false;
    by.observed(look);
    by.decide(now);
    round(by);
  }
}
