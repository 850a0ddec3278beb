package io.pgsteward.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.budget.ServerLimits;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.postgres.Backend;
import io.pgsteward.postgres.LimitRights;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.Observation;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import io.pgsteward.protocol.TenantGrant;
import io.pgsteward.protocol.TenantReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A coordinator under virtual time, a PostgreSQL that is a list of backends, and members that do as
 * they are told. Every step checks the coordinator's invariants.
 */
final class Scene {

  static final long EPOCH = 7;
  static final int OWN_PID = 1;
  static final Duration LEASE = Duration.ofSeconds(15);
  static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

  Coordinator coordinator;
  final Map<Integer, Backend> backends = new LinkedHashMap<>();
  final Map<String, Participant> participants = new TreeMap<>();
  final Map<String, Integer> limits = new TreeMap<>();
  int maxConnections;

  /** Whether changes of limits reach PostgreSQL at once. */
  boolean setsLimits = true;

  private final PolicyBook policies;
  private final EnforceMode enforce;
  private long now = 1_000_000_000L;
  private int nextPid = 100;

  Scene(int budget, PolicyBook policies, boolean learns) {
    this(budget, policies, learns, EnforceMode.OFF);
  }

  Scene(int budget, PolicyBook policies, boolean learns, EnforceMode enforce) {
    this.policies = policies;
    this.enforce = enforce;
    coordinator = coordinator(learns);
    budget(budget);
    backends.put(OWN_PID, new Backend(OWN_PID, "pgsteward", "postgres", false));
  }

  private Coordinator coordinator(boolean learns) {
    return new Coordinator(
        new CoordinatorSettings(
            new InstanceId("main"),
            LEASE,
            Duration.ofSeconds(5),
            Duration.ofSeconds(1),
            0,
            policies,
            learns,
            enforce));
  }

  /** Another process coordinates from now on, which knows nothing of the one before. */
  void restart() {
    long epoch = coordinator.epoch() + 1;
    coordinator = coordinator(true);
    coordinator.lead(epoch, now);
  }

  /** Leads, has looked, and grants at once. */
  static Scene serving(int budget, PolicyBook policies) {
    Scene scene = new Scene(budget, policies, false);
    scene.coordinator.lead(EPOCH, scene.now);
    scene.look();
    return scene;
  }

  /** The same with role limits; these roles have none yet. */
  static Scene enforcing(int budget, PolicyBook policies, String... roles) {
    Scene scene = new Scene(budget, policies, false, EnforceMode.REQUIRED);
    List.of(roles).forEach(role -> scene.limits.put(role, -1));
    scene.coordinator.lead(EPOCH, scene.now);
    for (int i = 0; i < 3; i++) {
      scene.after(Duration.ofMillis(1)).look();
    }
    return scene;
  }

  static PolicyBook everybody() {
    return PolicyBooks.withDefault();
  }

  /** The coordinator's own connection is foreign and takes one place. */
  void budget(int slots) {
    maxConnections = slots + 1;
  }

  long now() {
    return now;
  }

  Scene after(Duration time) {
    now += time.toNanos();
    return this;
  }

  /** Time passes with a look and a heartbeat of each participant every 250 ms. */
  Scene live(Duration time) {
    for (long left = time.toMillis(); left > 0; left -= 250) {
      after(Duration.ofMillis(250));
      participants.values().forEach(Participant::sync);
      settle();
    }
    return this;
  }

  Scene look() {
    return lookBegun(now);
  }

  Scene lookBegun(long startedNanos) {
    coordinator.observed(
        new Observation(
            startedNanos,
            new ServerLimits(maxConnections, 0, 0),
            new ArrayList<>(backends.values()),
            OWN_PID,
            true,
            roles()));
    decide();
    if (setsLimits) {
      setLimits();
    }
    return this;
  }

  private Observation.@Nullable Roles roles() {
    List<LoginRole> all = new ArrayList<>();
    limits.forEach((role, limit) -> all.add(new LoginRole(role, false, limit, true)));
    return enforce != EnforceMode.OFF
        ? new Observation.Roles(all, LimitRights.FUNCTION, now)
        : null;
  }

  /** PostgreSQL takes over the changes of limits that are due, a moment later. */
  Map<String, Integer> setLimits() {
    Map<String, Integer> changes = coordinator.takeLimitChanges();
    if (!changes.isEmpty()) {
      limits.putAll(changes);
      after(Duration.ofNanos(1000));
      coordinator.limitsSet(changes, now);
      decide();
    }
    return changes;
  }

  Scene decide() {
    coordinator.decide(now);
    coordinator.checkInvariants();
    return this;
  }

  /** Lets looks, answers and reports follow each other until nothing moves. */
  Scene settle() {
    for (int i = 0; i < 20; i++) {
      now += 1_000_000;
      look();
      boolean moved = false;
      for (Participant one : participants.values()) {
        moved |= one.apply();
      }
      if (!moved) {
        return this;
      }
    }
    throw new AssertionError("grants do not come to rest: " + coordinator.status(now));
  }

  Participant member(String name) {
    return participants.computeIfAbsent(name, n -> new Participant(n, now));
  }

  int granted(String tenant) {
    return coordinator.status(now).tenants().stream()
        .filter(t -> t.tenant().equals(tenant))
        .mapToInt(t -> t.granted())
        .sum();
  }

  int pid(TenantId tenant) {
    int pid = nextPid++;
    backends.put(pid, new Backend(pid, tenant.role(), tenant.database(), false));
    return pid;
  }

  /** A member as the protocol wants it: never holds more than it was granted. */
  final class Participant {

    final MemberId id;
    long sequence;
    long epoch;
    long generation;
    boolean leaving;
    final Map<TenantId, Integer> demand = new TreeMap<>();
    final Map<TenantId, Integer> grants = new TreeMap<>();
    final Map<TenantId, List<Integer>> pids = new TreeMap<>();

    Participant(String name, long born) {
      id = new MemberId((name + "--------").substring(0, 8) + born);
    }

    Participant wants(String tenant, int slots) {
      demand.put(TenantId.parse(tenant), slots);
      return sync();
    }

    /** Wants so many from its next report on. */
    Participant willWant(String tenant, int slots) {
      demand.put(TenantId.parse(tenant), slots);
      return this;
    }

    Participant goesBy(String tenant, int slots) {
      grants.put(TenantId.parse(tenant), slots);
      return this;
    }

    Participant holds(String tenant, int connections) {
      TenantId id = TenantId.parse(tenant);
      List<Integer> own = pids.computeIfAbsent(id, t -> new ArrayList<>());
      while (own.size() < connections) {
        own.add(pid(id));
      }
      while (own.size() > connections) {
        backends.remove(own.remove(own.size() - 1));
      }
      return this;
    }

    SyncRequest request() {
      List<TenantReport> reports = new ArrayList<>();
      Map<TenantId, Integer> all = new TreeMap<>(demand);
      grants.keySet().forEach(t -> all.putIfAbsent(t, 0));
      pids.keySet().forEach(t -> all.putIfAbsent(t, 0));
      all.forEach(
          (tenant, wanted) ->
              reports.add(
                  new TenantReport(
                      tenant.toString(),
                      grants.getOrDefault(tenant, 0),
                      wanted,
                      0,
                      0,
                      0,
                      pids.getOrDefault(tenant, List.of()).size(),
                      0,
                      pids.getOrDefault(tenant, List.of()))));
      return new SyncRequest(
          SyncRequest.VERSION,
          null,
          "app",
          ++sequence,
          epoch,
          generation,
          CONNECT_TIMEOUT.toMillis(),
          MemberPhase.GRANTED,
          leaving,
          false,
          reports);
    }

    Participant sync() {
      return sync(request());
    }

    Participant sync(SyncRequest request) {
      coordinator.sync(id, request, "127.0.0.1", now);
      decide();
      return this;
    }

    SyncResponse answer() {
      return coordinator.answer(id);
    }

    /**
     * Applies the answer in force, closes what is beyond it, and reports if anything is new to
     * either side.
     *
     * @return whether anything was new
     */
    boolean apply() {
      SyncResponse answer = answer();
      boolean news = answer.epoch() != epoch || answer.generation() != generation;
      epoch = answer.epoch();
      generation = answer.generation();
      grants.clear();
      for (TenantGrant grant : answer.tenants()) {
        grants.put(TenantId.parse(grant.tenant()), grant.grant());
      }
      Map.copyOf(pids)
          .forEach(
              (t, own) -> holds(t.toString(), Math.min(own.size(), grants.getOrDefault(t, 0))));
      if (news) {
        sync();
      }
      return news;
    }

    int granted(String tenant) {
      return answer().tenants().stream()
          .filter(g -> g.tenant().equals(tenant))
          .mapToInt(TenantGrant::grant)
          .sum();
    }

    void dies() {
      participants.values().remove(this);
    }

    Participant losesItsBackends() {
      pids.values().forEach(own -> own.forEach(backends::remove));
      return this;
    }
  }

  void physicalFits(int budget) {
    assertThat(backends.size() - 1).as("backends of managed roles").isLessThanOrEqualTo(budget);
  }
}
