package io.pgsteward.coordination;

import io.pgsteward.budget.Budget;
import io.pgsteward.budget.ServerLimits;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.ledger.Holding;
import io.pgsteward.ledger.Member;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;

/**
 * A small world under virtual time: the real coordinator, members that keep rule S2 and no fallback
 * slots, a network that delays, loses and reorders, a PostgreSQL whose backends linger. After every
 * event it checks that no member holds more than the ledger counts for it, and that the ledger
 * never counts more than the budget except by the budget's own shrinking.
 */
final class World {

  private static final long MS = 1_000_000;
  private static final long LEASE = 3_000 * MS;
  private static final long CONNECT_TIMEOUT = 500 * MS;
  private static final long MOST_LINGER = 300 * MS;

  private record Event(long at, long order, Runnable action) {}

  final Random random;
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::order));
  private long order;
  private long now = 1_000 * MS;

  private Coordinator coordinator;
  private long epoch = 1;
  private final PolicyBook policies;
  private boolean lookUnderWay;
  private int maxConnections = 16;
  private int foreign;
  private final Map<Integer, Backend> backends = new LinkedHashMap<>();
  private int nextPid = 10;

  final List<Participant> participants = new ArrayList<>();
  private final Map<MemberId, SyncRequest> parked = new HashMap<>();
  private final List<TenantId> tenants;
  private long countedBefore;
  private int served;

  World(long seed, PolicyBook policies, List<TenantId> tenants) {
    this.random = new Random(seed);
    this.policies = policies;
    this.tenants = tenants;
    this.coordinator = lead(false);
    for (int i = 0; i < 5; i++) {
      join();
    }
    every(100 * MS, this::control);
  }

  /**
   * How often a demand was met by an open connection; shows that the world is not standing still.
   */
  int served() {
    return served;
  }

  void run(Duration time) {
    long end = now + time.toNanos();
    while (!events.isEmpty() && events.peek().at <= end) {
      Event event = events.poll();
      now = event.at;
      event.action.run();
      check();
    }
  }

  private void in(long nanos, Runnable action) {
    events.add(new Event(now + nanos, order++, action));
  }

  private void every(long nanos, Runnable action) {
    in(
        nanos,
        () -> {
          action.run();
          every(nanos, action);
        });
  }

  private long between(long low, long high) {
    return low + (long) (random.nextDouble() * (high - low));
  }

  // ---- the coordinator's side

  private Coordinator lead(boolean learns) {
    Coordinator fresh =
        new Coordinator(
            new CoordinatorSettings(
                new InstanceId("main"),
                Duration.ofNanos(LEASE),
                Duration.ofNanos(LEASE / 3),
                Duration.ofSeconds(1),
                1,
                policies,
                learns,
                EnforceMode.OFF));
    fresh.lead(++epoch, now);
    lookUnderWay = false;
    parked.clear();
    return fresh;
  }

  void restart() {
    coordinator = lead(true);
    countedBefore = 0;
  }

  /** The server came back from a backup, so its transaction ids are lower. */
  void restartOnABackup() {
    epoch = Math.max(1, epoch - between(1, 20));
    restart();
  }

  void foreign(int connections) {
    foreign = connections;
  }

  void maxConnections(int connections) {
    maxConnections = connections;
  }

  private void control() {
    coordinator.decide(now);
    answerChanged();
    if (!lookUnderWay && now - coordinator.nextLookNanos(now) >= 0) {
      lookUnderWay = true;
      Coordinator asking = coordinator;
      long started = now;
      in(
          between(0, 5 * MS),
          () -> {
            List<Backend> seen = new ArrayList<>(backends.values());
            seen.add(new Backend(1, "pgsteward", "postgres", false));
            for (int i = 0; i < foreign; i++) {
              seen.add(new Backend(1_000_000 + i, "admin", "postgres", true));
            }
            int max = maxConnections;
            in(between(0, 5 * MS), () -> looked(asking, started, seen, max));
          });
    }
  }

  private void looked(Coordinator asking, long started, List<Backend> seen, int max) {
    if (asking != coordinator) {
      return;
    }
    lookUnderWay = false;
    if (random.nextInt(50) == 0) {
      coordinator.observationFailed("simulated");
    } else {
      coordinator.observed(new Observation(started, new ServerLimits(max, 1, 0), seen, 1, true));
    }
    control();
  }

  private void received(Participant from, SyncRequest request) {
    try {
      coordinator.sync(from.id, request, "sim", now);
    } catch (SyncRefusedException e) {
      return;
    }
    coordinator.decide(now);
    SyncRequest older = parked.remove(from.id);
    if (older != null) {
      reply(from, older);
    }
    if (coordinator.answersAtOnce(from.id, request)) {
      reply(from, request);
    } else {
      parked.put(from.id, request);
      in(
          LEASE / 3,
          () -> {
            if (parked.remove(from.id, request)) {
              reply(from, request);
            }
          });
    }
    answerChanged();
    control();
  }

  private void answerChanged() {
    for (MemberId id : coordinator.drainChanged()) {
      SyncRequest request = parked.remove(id);
      if (request != null) {
        participants.stream().filter(p -> p.id.equals(id)).forEach(p -> reply(p, request));
      }
    }
  }

  private void reply(Participant to, SyncRequest request) {
    SyncResponse answer = coordinator.answer(to.id);
    if (random.nextInt(30) != 0) {
      in(between(MS, 40 * MS), () -> to.answered(answer, request.sequence()));
    }
  }

  // ---- the members' side

  void join() {
    Participant one = new Participant();
    participants.add(one);
    one.step();
  }

  void kill(Participant one) {
    one.dead = true;
    one.connections.forEach(
        c -> {
          if (c.pid != 0) {
            in(between(0, MOST_LINGER), () -> backends.remove(c.pid));
          }
        });
    one.connections.clear();
    participants.remove(one);
  }

  private static final class Connection {
    final TenantId tenant;
    int pid;
    boolean closing;

    Connection(TenantId tenant) {
      this.tenant = tenant;
    }
  }

  final class Participant {

    final MemberId id = new MemberId("member-" + random.nextInt(1_000_000_000));
    final Map<TenantId, Integer> demand = new HashMap<>();
    final Map<TenantId, Integer> limit = new HashMap<>();
    final List<Connection> connections = new ArrayList<>();
    final Map<Long, Long> sentAt = new HashMap<>();
    long sequence;
    long epoch;
    long generation;
    long leaseFrom;
    boolean leaving;
    boolean dead;

    void step() {
      if (dead) {
        return;
      }
      loseLapsedGrants();
      for (TenantId tenant : tenants) {
        if (random.nextInt(4) == 0) {
          demand.put(tenant, leaving ? 0 : Math.max(0, random.nextInt(14) - 5));
        }
        fit(tenant);
      }
      if (random.nextInt(3) == 0) {
        sync();
      }
      in(between(10 * MS, 200 * MS), this::step);
    }

    private void loseLapsedGrants() {
      if (now - leaseFrom > LEASE) {
        tenants.stream().filter(t -> count(t) == 0).forEach(t -> limit.put(t, 0));
      }
    }

    private int count(TenantId tenant) {
      return (int) connections.stream().filter(c -> c.tenant.equals(tenant)).count();
    }

    private void fit(TenantId tenant) {
      int most = limit.getOrDefault(tenant, 0);
      int live =
          (int) connections.stream().filter(c -> c.tenant.equals(tenant) && !c.closing).count();
      int wanted = demand.getOrDefault(tenant, 0);
      served += Math.min(live, wanted);
      for (int i = live; i > most; i--) {
        closeOne(tenant);
      }
      if (live > wanted && random.nextInt(10) == 0) {
        closeOne(tenant);
      }
      if (!leaving && live < wanted && count(tenant) < most) {
        open(tenant);
      }
    }

    private void open(TenantId tenant) {
      Connection opening = new Connection(tenant);
      connections.add(opening);
      in(
          between(MS, CONNECT_TIMEOUT / 2),
          () -> {
            if (dead) {
              return;
            }
            if (backends.size() + foreign + 1 >= maxConnections) {
              connections.remove(opening);
              return;
            }
            opening.pid = nextPid++;
            backends.put(
                opening.pid, new Backend(opening.pid, tenant.role(), tenant.database(), false));
          });
    }

    private void closeOne(TenantId tenant) {
      connections.stream()
          .filter(c -> c.tenant.equals(tenant) && c.pid != 0 && !c.closing)
          .findFirst()
          .ifPresent(
              c -> {
                c.closing = true;
                in(
                    between(0, MOST_LINGER),
                    () -> {
                      backends.remove(c.pid);
                      connections.remove(c);
                      if (!dead) {
                        sync();
                      }
                    });
              });
    }

    void sync() {
      SyncRequest request = request();
      sentAt.put(request.sequence(), now);
      if (random.nextInt(30) != 0) {
        in(between(MS, 40 * MS), () -> received(this, request));
      }
    }

    private SyncRequest request() {
      List<TenantReport> reports = new ArrayList<>();
      for (TenantId tenant : tenants) {
        List<Connection> own = connections.stream().filter(c -> c.tenant.equals(tenant)).toList();
        int closing = (int) own.stream().filter(c -> c.closing).count();
        int opening = (int) own.stream().filter(c -> c.pid == 0).count();
        reports.add(
            new TenantReport(
                tenant.toString(),
                limit.getOrDefault(tenant, 0),
                demand.getOrDefault(tenant, 0),
                0,
                0,
                opening,
                own.size() - closing - opening,
                closing,
                own.stream().filter(c -> c.pid != 0).map(c -> c.pid).toList()));
      }
      return new SyncRequest(
          1,
          null,
          "sim",
          ++sequence,
          epoch,
          generation,
          CONNECT_TIMEOUT / MS,
          MemberPhase.GRANTED,
          leaving,
          false,
          reports);
    }

    void answered(SyncResponse answer, long toSequence) {
      long sent = sentAt.getOrDefault(toSequence, 0L);
      boolean older =
          answer.epoch() < epoch || (answer.epoch() == epoch && answer.generation() < generation);
      if (dead || older || now - sent > LEASE) {
        return;
      }
      loseLapsedGrants();
      boolean news = answer.epoch() != epoch || answer.generation() != generation;
      epoch = answer.epoch();
      generation = answer.generation();
      leaseFrom = Math.max(leaseFrom, sent);
      tenants.forEach(t -> limit.put(t, 0));
      for (TenantGrant grant : answer.tenants()) {
        limit.put(TenantId.parse(grant.tenant()), grant.grant());
      }
      tenants.forEach(this::fit);
      if (news) {
        sync();
      }
    }
  }

  // ---- what must hold after every event

  private void check() {
    coordinator.checkInvariants();
    if (coordinator.phase() == CoordinatorPhase.LEARNING) {
      countedBefore = coordinator.ledger().counted();
      return;
    }
    for (Participant one : participants) {
      Member known = coordinator.ledger().member(one.id);
      for (TenantId tenant : tenants) {
        Holding holding = known == null ? null : known.holdings().get(tenant);
        int counted = holding == null ? 0 : holding.counted();
        if (one.count(tenant) > counted) {
          throw new AssertionError(
              one.id + " holds " + one.count(tenant) + " of " + tenant + ", counted " + counted);
        }
      }
    }
    long counted = coordinator.ledger().counted();
    Budget budget = coordinator.budget();
    int most = budget == null ? 0 : budget.total();
    if (counted > most && counted > countedBefore) {
      throw new AssertionError("counted " + counted + " of a budget of " + most);
    }
    countedBefore = counted;
  }
}
