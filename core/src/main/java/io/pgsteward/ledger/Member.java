package io.pgsteward.ledger;

import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.MemberPhase;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** One member as the ledger knows it. Not thread-safe: owned by a {@link Ledger}. */
public final class Member {

  private final MemberId id;
  private final Map<TenantId, Holding> holdings = new TreeMap<>();
  private final Map<TenantId, String> refusals = new TreeMap<>();

  private String name = "";
  private String address = "";
  private MemberPhase phase = MemberPhase.JOINING;
  private boolean leaving;
  private long generation;
  private long sequence = -1;
  private long connectTimeoutNanos;
  private long heardNanos;
  private long heardBeforeNanos;
  private long listenedToNanos;
  private boolean namedEpoch;
  private long namedEpochNanos;

  /**
   * @param seen the generation of this epoch that it names, or -1: it may have been known before
   *     and forgotten, and would not apply an answer with an older one
   */
  Member(MemberId id, long seen, long nowNanos) {
    this.id = id;
    generation = Math.max(1, seen + 1);
    heardNanos = nowNanos;
    heardBeforeNanos = nowNanos;
    listenedToNanos = nowNanos;
  }

  public MemberId id() {
    return id;
  }

  /** What the process calls itself; may be empty. */
  public String name() {
    return name;
  }

  /** Where its last request came from. */
  public String address() {
    return address;
  }

  /** Its own view of its session. */
  public MemberPhase phase() {
    return phase;
  }

  /** Whether it closes and wants nothing more. */
  public boolean leaving() {
    return leaving;
  }

  /** Grows with each change of its grants. */
  public long generation() {
    return generation;
  }

  /** Sequence of its last accepted report; -1 before it. */
  public long sequence() {
    return sequence;
  }

  /** When its last report arrived. */
  public long heardNanos() {
    return heardNanos;
  }

  /** When the report before its last one arrived. */
  long heardBeforeNanos() {
    return heardBeforeNanos;
  }

  /** Its holdings by tenant, in the order of the tenants; a view. */
  public Map<TenantId, Holding> holdings() {
    return Collections.unmodifiableMap(holdings);
  }

  /** Tenants that the configuration refuses, with the reason; a view. */
  public Map<TenantId, String> refusals() {
    return Collections.unmodifiableMap(refusals);
  }

  /** Whether it has not been heard for longer than a lease in which the coordinator listened. */
  public boolean isSilent(long nowNanos, long leaseNanos) {
    return nowNanos - heardNanos > leaseNanos && nowNanos - listenedToNanos > leaseNanos;
  }

  void listenedTo(long sinceNanos) {
    listenedToNanos = sinceNanos;
  }

  /** From when on a look at PostgreSQL can show that it holds nothing: see rule S6. */
  public long forgettableNanos(long leaseNanos) {
    return heardNanos + leaseNanos + connectTimeoutNanos;
  }

  Map<TenantId, Holding> ownHoldings() {
    return holdings;
  }

  Map<TenantId, String> ownRefusals() {
    return refusals;
  }

  long nextGeneration() {
    return ++generation;
  }

  void newEpoch() {
    generation++;
    namedEpoch = false;
  }

  /** Whether it had reported naming this epoch before that moment. */
  boolean namedEpochBefore(long nanos) {
    return namedEpoch && namedEpochNanos - nanos < 0;
  }

  void heard(Snapshot snapshot, long nowNanos) {
    name = snapshot.name();
    address = snapshot.address();
    phase = snapshot.phase();
    leaving = leaving || snapshot.leaving();
    sequence = snapshot.sequence();
    connectTimeoutNanos = snapshot.connectTimeoutNanos();
    heardBeforeNanos = heardNanos;
    heardNanos = nowNanos;
    if (snapshot.generation() >= 0 && !namedEpoch) {
      namedEpoch = true;
      namedEpochNanos = nowNanos;
    }
  }
}
