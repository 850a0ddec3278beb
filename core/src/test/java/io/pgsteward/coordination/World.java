package io.pgsteward.coordination;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.Observation;
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
 * slots, a network that delays, loses, reorders and is cut, a PostgreSQL whose backends linger.
 * {@link WorldChecks} tells what must hold after every event.
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
  int maxConnections = 16;
  int foreign;
  private final Map<Integer, Backend> backends = new LinkedHashMap<>();
  private int nextPid = 10;

  final List<Participant> participants = new ArrayList<>();
  private final Map<MemberId, SyncRequest> parked = new HashMap<>();
  private final List<TenantId> tenants;
  private final boolean enforces;
  private final WorldRoles roles;
  private final WorldChecks checks;
  private int served;

  World(long seed, PolicyBook policies, List<TenantId> tenants, boolean enforces) {
    this.random = new Random(seed);
    this.policies = policies;
    this.tenants = tenants;
    this.enforces = enforces;
    this.roles = new WorldRoles(tenants.stream().map(TenantId::role).toList());
    this.checks = new WorldChecks(tenants, enforces ? roles : null);
    this.coordinator = lead(false);
    for (int i = 0; i < 5; i++) {
      join();
    }
    every(100 * MS, this::control);
    if (enforces) {
      every(150 * MS, this::stray);
    }
  }

  /** How often a demand was met by an open connection. */
  int served() {
    return served;
  }

  void run(Duration time) {
    long end = now + time.toNanos();
    while (!events.isEmpty() && events.peek().at <= end) {
      Event event = events.poll();
      now = event.at;
      event.action.run();
      checks.check(coordinator, participants, backends.size(), now);
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
                enforces ? EnforceMode.REQUIRED : EnforceMode.OFF));
    fresh.lead(++epoch, now);
    lookUnderWay = false;
    parked.clear();
    return fresh;
  }

  void restart() {
    coordinator = lead(true);
    if (!enforces) {
      // Who is not heard while it learns is outside without role limits (rule S8).
      participants.forEach(one -> one.cutUntil = now);
    }
    checks.restarted();
  }

  /** The server came back from a backup, so its transaction ids are lower. */
  void restartOnABackup() {
    epoch = Math.max(1, epoch - between(1, 20));
    restart();
  }

  /** After a restart nobody is cut off in this time. */
  Duration untilHeard() {
    return Duration.ofMillis(enforces ? between(0, 4_000) : 4_000);
  }

  private void control() {
    coordinator.decide(now);
    answerChanged();
    if (!lookUnderWay) {
      Map<String, Integer> limits = coordinator.takeLimitChanges();
      if (!limits.isEmpty()) {
        lookUnderWay = true;
        setLimits(limits);
      }
    }
    if (!lookUnderWay && now - coordinator.nextLookNanos(now) >= 0) {
      lookUnderWay = true;
      long started = now;
      ofThisTerm(() -> look(started));
    }
  }

  private void look(long started) {
    List<Backend> seen = new ArrayList<>(backends.values());
    seen.add(new Backend(1, "pgsteward", "postgres", false));
    for (int i = 0; i < foreign; i++) {
      seen.add(new Backend(1_000_000 + i, "admin", "postgres", true));
    }
    Observation.Roles shown = enforces ? roles.look(now) : null;
    Observation look =
        new Observation(started, new ServerLimits(maxConnections, 1, 0), seen, 1, true, shown);
    ofThisTerm(
        () -> {
          lookUnderWay = false;
          if (random.nextInt(50) == 0) {
            coordinator.observationFailed("simulated");
          } else {
            coordinator.observed(look);
          }
          control();
        });
  }

  /** A transaction that commits, fails, or commits without anybody hearing of it. */
  private void setLimits(Map<String, Integer> limits) {
    int fate = random.nextInt(20);
    ofThisTerm(
        () -> {
          if (fate != 0) {
            roles.set(limits);
          }
          ofThisTerm(
              () -> {
                lookUnderWay = false;
                if (fate > 1) {
                  coordinator.limitsSet(limits, now);
                } else {
                  coordinator.limitsFailed(limits, "simulated", now);
                }
                control();
              });
        });
  }

  /** Happens soon, unless another coordinator leads by then: it ended this one's session first. */
  private void ofThisTerm(Runnable action) {
    Coordinator asking = coordinator;
    in(
        between(0, 5 * MS),
        () -> {
          if (asking == coordinator) {
            action.run();
          }
        });
  }

  /** Somebody who is no member logs in with a managed role, if PostgreSQL lets him, and stays. */
  private void stray() {
    TenantId tenant = tenants.get(random.nextInt(tenants.size()));
    if (random.nextInt(3) == 0 && admits(tenant)) {
      int pid = nextPid++;
      backends.put(pid, new Backend(pid, tenant.role(), tenant.database(), false));
      in(between(100 * MS, 3_000 * MS), () -> backends.remove(pid));
    }
  }

  private boolean admits(TenantId tenant) {
    long live = backends.values().stream().filter(b -> tenant.role().equals(b.role())).count();
    return backends.size() + foreign + 1 < maxConnections
        && (!enforces || roles.admits(tenant.role(), live));
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
    if (now - to.cutUntil >= 0 && random.nextInt(30) != 0) {
      in(between(MS, 40 * MS), () -> to.answered(answer, request.sequence()));
    }
  }

  // ---- the members' side

  void join() {
    Participant one = new Participant();
    participants.add(one);
    one.step();
  }

  /** It hears nobody and nobody hears it for up to four leases, but PostgreSQL lets it in. */
  void cut(Participant one) {
    one.cutUntil = now + between(0, 4 * LEASE);
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
    long cutUntil;
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

    /** Its connections of the tenant: opening, open and closing. */
    int count(TenantId tenant) {
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
            if (!admits(tenant)) {
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
      loseLapsedGrants();
      SyncRequest request = request();
      sentAt.put(request.sequence(), now);
      if (now - cutUntil >= 0 && random.nextInt(30) != 0) {
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
}
