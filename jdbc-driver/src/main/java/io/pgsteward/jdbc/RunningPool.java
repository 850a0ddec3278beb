package io.pgsteward.jdbc;

import io.pgsteward.jdbc.internal.pool.BorrowFailure;
import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.PoolUsage;
import io.pgsteward.jdbc.internal.pool.TenantPoolSettings;
import io.pgsteward.jdbc.internal.session.CoordinatorView;
import io.pgsteward.jdbc.internal.session.Member;
import io.pgsteward.jdbc.internal.session.MemberSettings;
import io.pgsteward.jdbc.internal.session.TenantAccess;
import io.pgsteward.jdbc.internal.session.TenantSettings;
import io.pgsteward.model.MemberId;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A DataSource that has started: its place in the member of this process and its way to the
 * tenant's pool, which it may share with others. Turns what happens there into what the user sees:
 * errors, snapshots, events. Thread-safe.
 */
final class RunningPool {

  private static final Logger LOG = LoggerFactory.getLogger(PgStewardDataSource.class);

  /** What one opening may take when pgjdbc's own timeouts are switched off. */
  private static final Duration LONGEST_OPENING = Duration.ofMinutes(10);

  private static final Duration LONGEST_CLOSE = Duration.ofSeconds(1);

  /** PostgreSQL cuts longer names. */
  private static final int LONGEST_NAME = 63;

  private static final PoolUsage NOTHING =
      new PoolUsage(
          0, 0, 0, 0, 0, 0, 0, 0, 0, List.of(), new PoolUsage.Counters(0, 0, 0, 0, 0, 0, 0, 0, 0));

  private final PgStewardConfig config;
  private final BorrowErrors errors;
  private final Member member;
  private final TenantAccess access;
  private final List<PgStewardListener> listeners = new CopyOnWriteArrayList<>();
  private final LongAdder waitedNanos = new LongAdder();
  private final LongAdder openingNanos = new LongAdder();

  private RunningPool(PgStewardConfig config, Member member) throws SQLException {
    this.config = config;
    this.errors = new BorrowErrors(config.target());
    this.member = member;
    this.access = member.access(tenantSettings(config, member), this::explain, new Events());
  }

  /**
   * Joins the member and the tenant. Opens nothing and waits for nothing.
   *
   * @throws SQLException if the tenant is in use in this process with other settings
   */
  static RunningPool start(PgStewardConfig config) throws SQLException {
    for (String warning : config.warnings()) {
      LOG.warn("PgSteward {}: {}", config.tenant(), warning);
    }
    Integer cap = config.number(Setting.MAXIMUM_POOL_SIZE);
    if (cap != null) {
      LOG.info(
          "PgSteward {}: maximumPoolSize={} is a cap for this process; the size of the pool is what"
              + " the coordinator grants",
          config.tenant(),
          cap);
    }
    Member member = Member.join(memberSettings(config));
    try {
      return new RunningPool(config, member);
    } catch (SQLException | RuntimeException e) {
      member.release();
      throw e;
    }
  }

  private static MemberSettings memberSettings(PgStewardConfig config) {
    ConnectionTarget target = config.target();
    String name = Objects.requireNonNullElse(target.applicationName(), "");
    String coordinator = config.text(Setting.COORDINATOR);
    if (coordinator == null || coordinator.equals("local")) {
      return MemberSettings.local(
          String.join(",", target.hosts()), target.url(), target.pgjdbcProperties(), name);
    }
    return MemberSettings.http(
        coordinator, config.text(Setting.INSTANCE), config.text(Setting.COORDINATOR_TOKEN), name);
  }

  private static TenantSettings tenantSettings(PgStewardConfig config, Member member) {
    ConnectionTarget target = config.target();
    TenantPoolSettings.Builder pool =
        TenantPoolSettings.builder(
                target.tenant().toString(), target.url(), target.pgjdbcProperties())
            .applicationName(applicationName(target.applicationName(), member.id()))
            .connectTimeout(target.openTimeout().isZero() ? LONGEST_OPENING : target.openTimeout())
            .vanishedClientTimeout(config.duration(Setting.VANISHED_CLIENT_TIMEOUT))
            .validationTimeout(config.duration(Setting.VALIDATION_TIMEOUT))
            .maxLifetime(config.duration(Setting.MAX_LIFETIME))
            .idleTimeout(config.duration(Setting.IDLE_TIMEOUT))
            .keepaliveTime(config.duration(Setting.KEEPALIVE_TIME))
            .leakDetectionThreshold(config.duration(Setting.LEAK_DETECTION_THRESHOLD))
            .autoCommit(config.flag(Setting.AUTO_COMMIT))
            .readOnly(target.readOnly())
            .transactionIsolation(config.text(Setting.TRANSACTION_ISOLATION))
            .schema(config.text(Setting.SCHEMA))
            .connectionInitSql(config.text(Setting.CONNECTION_INIT_SQL))
            .maxWaiters(numberOr(config, Setting.MAX_WAITERS, 0))
            .cap(numberOr(config, Setting.MAXIMUM_POOL_SIZE, Integer.MAX_VALUE));
    return new TenantSettings(
        target.tenant(), pool.build(), numberOr(config, Setting.FALLBACK_SLOTS, 0));
  }

  private static int numberOr(PgStewardConfig config, Setting setting, int otherwise) {
    Integer number = config.number(setting);
    return number == null ? otherwise : number;
  }

  /** The application's own name, with a mark by which a person finds the member. */
  private static String applicationName(@Nullable String own, MemberId member) {
    String mark = "pgsteward-" + member.value().substring(0, 8);
    if (own == null || own.isBlank()) {
      return mark;
    }
    int room = LONGEST_NAME - mark.length() - 1;
    return (own.length() <= room ? own : own.substring(0, room)) + " " + mark;
  }

  Connection getConnection(long timeoutNanos) throws SQLException {
    return getConnection(timeoutNanos, 0);
  }

  /**
   * Borrows a connection.
   *
   * @param timeoutNanos the longest wait that the caller allows
   * @param goneNanos what of it has gone already
   */
  Connection getConnection(long timeoutNanos, long goneNanos) throws SQLException {
    try {
      return access.getConnection(Math.max(1, timeoutNanos - goneNanos));
    } catch (TimedOutException e) {
      throw told(timedOut(e.failure, timeoutNanos));
    } catch (NoSlotException e) {
      throw told(e);
    }
  }

  private SQLException told(SQLException error) {
    if (error instanceof NoSlotException noSlot) {
      tell(listener -> listener.noSlot(noSlot));
    }
    return error;
  }

  private SQLException timedOut(BorrowFailure.TimedOut failure, long timeoutNanos) {
    return errors.timedOut(
        snapshot(failure.usage()),
        Duration.ofNanos(timeoutNanos),
        Duration.ofNanos(failure.waitedNanos()),
        failure.lastOpenFailure(),
        failure.callerHoldsConnection());
  }

  /** Carries the failure to the borrower's own DataSource, which knows how long it could wait. */
  private static final class TimedOutException extends SQLException {
    private static final long serialVersionUID = 1L;
    private final transient BorrowFailure.TimedOut failure;

    TimedOutException(BorrowFailure.TimedOut failure) {
      this.failure = failure;
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this; // nobody sees it
    }
  }

  private SQLException explain(BorrowFailure failure) {
    if (failure instanceof BorrowFailure.TimedOut e) {
      return new TimedOutException(e);
    }
    if (failure instanceof BorrowFailure.TooManyWaiters e) {
      return errors.tooManyWaiters(snapshot(e.usage()), e.maxWaiters());
    }
    if (failure instanceof BorrowFailure.Refused e) {
      return errors.refused(coordinator(access.grant()), e.reason());
    }
    if (failure instanceof BorrowFailure.OpenFailed e) {
      return errors.openFailed(e.cause());
    }
    if (failure instanceof BorrowFailure.Interrupted e) {
      return errors.interrupted(Duration.ofNanos(e.waitedNanos()));
    }
    return errors.closed();
  }

  TenantSnapshot snapshot() {
    PoolUsage usage = access.usage();
    return snapshot(usage == null ? NOTHING : usage);
  }

  private TenantSnapshot snapshot(PoolUsage usage) {
    CoordinatorView.Tenant grant = access.grant();
    PoolUsage.Counters c = usage.counters();
    return new TenantSnapshot(
        config.tenant().toString(),
        config.poolName(),
        usage.limit(),
        config.number(Setting.MAXIMUM_POOL_SIZE),
        usage.inUse(),
        usage.idle(),
        usage.opening(),
        usage.closing(),
        usage.waiting(),
        Duration.ofNanos(usage.longestWaitNanos()),
        usage.demand(),
        new TenantSnapshot.Counters(
            c.borrowed(),
            c.timedOut(),
            c.opened(),
            c.closed(),
            c.failedOpens(),
            c.refused53300(),
            c.selfWaits(),
            c.unconfirmedCloses(),
            waitedNanos.sum(),
            openingNanos.sum()),
        coordinator(grant));
  }

  private TenantSnapshot.Coordinator coordinator(CoordinatorView.@Nullable Tenant grant) {
    CoordinatorView view = member.coordinatorState();
    return new TenantSnapshot.Coordinator(
        view.coordinator(),
        view.reachable(),
        view.describe(),
        Duration.ofMillis(view.leaseLeftMillis()),
        view.budget(),
        view.granted(),
        grant == null ? -1 : grant.tenantGranted(),
        grant == null ? null : grant.tenantMax());
  }

  /** The snapshot of a DataSource that was never asked for a connection. */
  static TenantSnapshot notStarted(PgStewardConfig config) {
    String coordinator = Objects.requireNonNullElse(config.text(Setting.COORDINATOR), "local");
    return new TenantSnapshot(
        config.tenant().toString(),
        config.poolName(),
        0,
        config.number(Setting.MAXIMUM_POOL_SIZE),
        0,
        0,
        0,
        0,
        0,
        Duration.ZERO,
        0,
        TenantSnapshot.Counters.NONE,
        new TenantSnapshot.Coordinator(
            coordinator,
            false,
            "coordinator=" + coordinator + " not asked yet",
            Duration.ZERO,
            -1,
            -1,
            -1,
            null));
  }

  void addListener(PgStewardListener listener) {
    listeners.add(listener);
  }

  void removeListener(PgStewardListener listener) {
    listeners.remove(listener);
  }

  private void tell(Consumer<PgStewardListener> event) {
    for (PgStewardListener listener : listeners) {
      try {
        event.accept(listener);
      } catch (RuntimeException e) {
        LOG.warn("PgSteward {}: a listener failed; it goes on", config.tenant(), e);
      }
    }
  }

  /**
   * Leaves the tenant and the member; the last one to leave closes them. That takes milliseconds
   * when nothing is in use, and seconds when transactions run or nobody answers: then it goes on
   * behind the caller.
   */
  void close() {
    Thread leaving = new Thread(this::leave, "pgsteward-" + config.tenant() + "-close");
    leaving.setDaemon(true);
    leaving.start();
    try {
      leaving.join(LONGEST_CLOSE.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // in a hurry: the thread ends by itself
    }
  }

  private void leave() {
    try {
      access.close();
    } finally {
      member.release();
    }
  }

  /** The pool's events, counted and passed on to the user's listeners. */
  private final class Events implements PoolEvents {

    @Override
    public void opened(int pid, long nanos) {
      openingNanos.add(nanos);
      tell(l -> l.connectionOpened(tenant(), pid, Duration.ofNanos(nanos)));
    }

    @Override
    public void closed(int pid) {
      tell(l -> l.connectionClosed(tenant(), pid));
    }

    @Override
    public void openFailed(SQLException failure) {
      tell(l -> l.openFailed(tenant(), failure));
    }

    @Override
    public void borrowed(long waitNanos) {
      waitedNanos.add(waitNanos);
      tell(l -> l.waitedFor(tenant(), Duration.ofNanos(waitNanos)));
    }

    private String tenant() {
      return config.tenant().toString();
    }
  }
}
