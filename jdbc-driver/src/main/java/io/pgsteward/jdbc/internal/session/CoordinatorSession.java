package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member's conversation with the coordinator of one instance.
 *
 * <p><b>The exchange.</b> One daemon thread makes one call after the other; a parked call is push
 * channel and heartbeat. Each turn has four steps in this order, and the order is rule S3:
 *
 * <ol>
 *   <li>the book takes the last answer and the time that has passed;
 *   <li>the pools are made to go by it, every lowering before any raise;
 *   <li>the figures are read, so they were measured under the generation that the book names;
 *   <li>the report goes out with that epoch and generation.
 * </ol>
 *
 * Limits change in step 2 and nowhere else, so no raise comes between the figures and their report.
 *
 * <p><b>The watch.</b> A second daemon thread gives the call in flight up when there is news that
 * the coordinator should hear, or when the lease ends, since then the limits change. It never
 * touches the pools beyond reading their figures.
 *
 * <p>Lock rule: {@code lock} guards the fields marked so; no call to pools, client or logger is
 * made under it. Thread-safe.
 */
final class CoordinatorSession {

  private static final Logger LOG = LoggerFactory.getLogger(CoordinatorSession.class);
  private static final long FIRST_DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** How often the watch looks at the figures, and at most one part in how many of its time. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int LOOK_SHARE = 50;
  private static final Duration LONGEST_CONNECT = Duration.ofSeconds(2);

  private final MemberId member;
  private final SessionSettings settings;
  private final CoordinatorClient client;
  private final MemberClock clock;
  private final SessionTenants tenants;
  private final Moment start;

  /**
   * Tenants found empty while opening from nothing, with the serial of the lease that had ended.
   */
  private final Map<TenantId, Long> emptied = new ConcurrentHashMap<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final GrantBook book; // guarded by lock
  private final Reports reports; // guarded by lock
  private final Pacing pacing; // guarded by lock
  private final Backoff backoff; // guarded by lock
  private @Nullable CoordinatorCall inFlight; // guarded by lock
  private long notBefore; // guarded by lock
  private long parkNanos; // guarded by lock
  private long connectTimeoutMillis; // guarded by lock
  private boolean leaving; // guarded by lock
  private long leaveBy; // guarded by lock
  private boolean stopped; // guarded by lock
  private @Nullable Trouble trouble; // guarded by lock
  private @Nullable Thread exchange; // guarded by lock
  private @Nullable Thread watch; // guarded by lock

  private volatile Lease lease;
  private volatile boolean urgent;

  private record Trouble(Kind kind, String text, Moment since) {}

  private record Prepared(CoordinatorCall call, Moment sent, boolean last) {}

  CoordinatorSession(
      MemberId member,
      SessionSettings settings,
      CoordinatorClient client,
      MemberClock clock,
      SessionTenants tenants) {
    this.member = member;
    this.settings = settings;
    this.client = client;
    this.clock = clock;
    this.tenants = tenants;
    this.start = clock.now();
    this.book = new GrantBook(start, settings.lease().toNanos());
    this.reports = new Reports(settings.instance(), settings.name());
    this.pacing = new Pacing(() -> ThreadLocalRandom.current().nextDouble());
    this.backoff = new Backoff(FIRST_DELAY_NANOS, () -> ThreadLocalRandom.current().nextDouble());
    this.notBefore = start.nanos();
    this.parkNanos = settings.park().toNanos();
    this.lease = book.lease();
  }

  /** Starts the threads; the first report goes out at once. Without effect once started. */
  void start() {
    lock.lock();
    try {
      if (exchange != null || stopped) {
        return;
      }
      exchange = thread("session", this::runExchange);
      watch = thread("watch", this::runWatch);
      exchange.start();
      watch.start();
    } finally {
      lock.unlock();
    }
  }

  private Thread thread(String job, Runnable body) {
    Thread thread = new Thread(body, "pgsteward-" + member.value().substring(0, 8) + "-" + job);
    thread.setDaemon(true);
    return thread;
  }

  /**
   * A tenant has a pool from now on.
   *
   * @param cap the most that this process wants to hold
   * @param connectTimeout the longest that one opening of its connections can last
   * @return the limit that it goes by until the session says otherwise
   */
  int register(TenantId tenant, int fallbackSlots, int cap, Duration connectTimeout) {
    lock.lock();
    try {
      book.register(tenant, fallbackSlots, cap);
      connectTimeoutMillis = Math.max(connectTimeoutMillis, connectTimeout.toMillis());
      return book.limit(tenant);
    } finally {
      lock.unlock();
    }
  }

  /** A tenant has no pool any more. */
  void retire(TenantId tenant) {
    lock.lock();
    try {
      book.retire(tenant);
    } finally {
      lock.unlock();
    }
    urgent();
  }

  /**
   * The coordinator must hear from us at once: demand rose, or a slot was released. Cheap when
   * called often; returns at once; any thread.
   */
  void urgent() {
    if (urgent) {
      return; // the figures of the next report are read after this and hold the caller's news
    }
    CoordinatorCall old = null;
    lock.lock();
    try {
      urgent = true;
      pacing.urgent();
      if (leaving) {
        notBefore = clock.now().nanos();
      }
      if (pacing.giveUpIn(clock.now().nanos()) == 0) {
        old = inFlight;
        inFlight = null;
      } else {
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    if (old != null) {
      old.cancel();
    }
  }

  /**
   * A pool is about to open a connection and holds none. If the lease has ended by now, the tenant
   * has lost its grant. Takes no lock and may be called under the pool's.
   *
   * @param limit what the pool goes by
   * @return what it goes by from now on
   */
  int limitFromEmpty(TenantId tenant, int limit, int fallbackSlots) {
    Lease last = lease;
    if (last.nanos() == 0 || limit <= fallbackSlots || !last.endedAt(clock.now())) {
      return limit;
    }
    emptied.put(tenant, last.serial());
    return fallbackSlots;
  }

  /**
   * Gives everything back: reports with demand 0 until nothing is held but what the application has
   * on loan, or until the time is up, then ends the threads. Blocks at most about that time.
   */
  void leave(Duration within) {
    CoordinatorCall old;
    Thread worker;
    long by = System.nanoTime() + within.toNanos();
    lock.lock();
    try {
      leaving = true;
      leaveBy = by;
      notBefore = clock.now().nanos();
      old = inFlight;
      inFlight = null;
      worker = exchange;
      if (worker == null || (trouble != null && book.epoch() == 0)) {
        stopped = true;
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (old != null) {
      old.cancel();
    }
    join(worker, by);
    stop();
    long soon = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500);
    join(worker, soon);
    join(watch(), soon);
  }

  private @Nullable Thread watch() {
    lock.lock();
    try {
      return watch;
    } finally {
      lock.unlock();
    }
  }

  private static void join(@Nullable Thread thread, long by) {
    if (thread == null || thread == Thread.currentThread()) {
      return;
    }
    boolean interrupted = Thread.interrupted();
    try {
      TimeUnit.NANOSECONDS.timedJoin(thread, by - System.nanoTime());
    } catch (InterruptedException e) {
      interrupted = true; // the caller is in a hurry: the threads end by themselves
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void stop() {
    CoordinatorCall old;
    lock.lock();
    try {
      stopped = true;
      book.closed();
      old = inFlight;
      inFlight = null;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    if (old != null) {
      old.cancel();
    }
    client.close();
  }

  // ---- the exchange's thread

  private void runExchange() {
    try {
      while (awaitTurn()) {
        try {
          Prepared next = prepare();
          if (next != null) {
            exchange(next);
            tenants.tidy();
          }
        } catch (RuntimeException e) {
          LOG.error("PgSteward: the exchange with {} failed; it goes on", client.address(), e);
          failed(new CoordinatorException(Kind.UNUSABLE, "failed: " + e, false, e));
        }
      }
    } catch (InterruptedException e) {
      LOG.warn("PgSteward: the session with {} was interrupted and has ended", client.address());
      Thread.currentThread().interrupt();
    }
  }

  /** Waits until the next report may go. Limits that change with time change meanwhile. */
  private boolean awaitTurn() throws InterruptedException {
    while (true) {
      lock.lock();
      try {
        if (stopped) {
          return false;
        }
        Moment now = clock.now();
        long wait = notBefore - now.nanos();
        if (wait <= 0) {
          return true;
        }
        long change = changeIn(now);
        if (change > 0) {
          changed.awaitNanos(Math.min(wait, change));
          continue;
        }
      } finally {
        lock.unlock();
      }
      goBy();
    }
  }

  /** How long until limits change by time alone: the end of the lease, or of the wait to join. */
  private long changeIn(Moment now) {
    return switch (book.phase()) {
      case GRANTED -> book.lease().leftNanos(now);
      case JOINING ->
          book.goesAlone()
              ? Pacing.NEVER
              : Math.max(0, settings.joinGrace().toNanos() - now.since(start));
      case FALLBACK, CLOSED -> Pacing.NEVER;
    };
  }

  /** Steps 1 to 3 of a turn. */
  private List<TenantFigures> goBy() {
    while (true) {
      Map<TenantId, Integer> limits;
      Map<TenantId, String> refusals;
      boolean fellBack;
      lock.lock();
      try {
        Moment now = clock.now();
        fellBack = book.passed(now);
        if (changeIn(now) == 0) {
          book.firstExchangeFailed();
        }
        emptied.forEach(book::emptied);
        emptied.clear();
        urgent = false;
        pacing.reading();
        limits = book.limits();
        refusals = book.refusals();
      } finally {
        lock.unlock();
      }
      if (fellBack) {
        LOG.warn(
            "PgSteward: no answer from {} for a whole lease ({} ms). Existing connections go on;"
                + " each tenant goes by its last grant or fallbackSlots, whichever is more",
            client.address(),
            TimeUnit.NANOSECONDS.toMillis(book.leaseNanos()));
      }
      tenants.apply(limits, refusals);
      List<TenantFigures> figures = tenants.report();
      if (!losesGrants(figures)) {
        return figures;
      }
    }
  }

  /** After the end of the lease a tenant without a connection loses its grant. */
  private boolean losesGrants(List<TenantFigures> figures) {
    lock.lock();
    try {
      boolean lost = false;
      if (book.phase() == MemberPhase.FALLBACK) {
        for (TenantFigures of : figures) {
          if (of.held() == 0) {
            lost |= book.emptied(of.tenant(), book.lease().serial());
          }
        }
      }
      return lost;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Prepared prepare() {
    List<TenantFigures> figures = goBy();
    SyncRequest request;
    Duration readTimeout;
    Duration connectTimeout;
    lock.lock();
    try {
      request = reports.next(book, figures, connectTimeoutMillis, leaving);
      long third = book.leaseNanos() / 3;
      long read = parkNanos + third;
      if (leaving) {
        read = Math.max(1, Math.min(read, leaveBy - System.nanoTime()));
      }
      readTimeout = Duration.ofNanos(read);
      connectTimeout = Duration.ofNanos(Math.min(Math.min(third, read), LONGEST_CONNECT.toNanos()));
    } finally {
      lock.unlock();
    }
    // Loans are the application's: they are not waited for, and PostgreSQL shows when they end.
    boolean last = request.leaving() && figures.stream().allMatch(of -> of.held() == of.inUse());
    CoordinatorCall call = client.call(member, request, readTimeout, connectTimeout);
    lock.lock();
    try {
      if (stopped || leaving != request.leaving()) {
        return null;
      }
      Moment sent = clock.now();
      inFlight = call;
      pacing.sent(sent.nanos());
      return new Prepared(call, sent, last);
    } finally {
      lock.unlock();
    }
  }

  private void exchange(Prepared next) {
    try {
      SyncResponse answer = next.call().execute();
      if (answer.phase() == CoordinatorPhase.STANDBY) {
        throw useless("does not lead the instance", client.askAnother());
      }
      if (answered(answer, next) == GrantBook.Outcome.OLDER) {
        throw useless("answers with grants older than those applied", client.askAnother());
      }
    } catch (CoordinatorException e) {
      failed(e);
      if (e.kind() != Kind.CANCELLED) {
        goBy(); // a member that joins has its fallback slots now, not after the back-off
      }
    }
  }

  private CoordinatorException useless(String what, boolean next) {
    return new CoordinatorException(
        Kind.NOT_LEADING, "coordinator " + client.address() + " " + what, next, null);
  }

  private GrantBook.Outcome answered(SyncResponse answer, Prepared to) {
    GrantBook.Outcome outcome;
    Trouble over = null;
    Moment now;
    lock.lock();
    try {
      now = clock.now();
      inFlight = null;
      outcome = book.answered(answer, to.sent(), now);
      pacing.answered(
          outcome == GrantBook.Outcome.APPLIED,
          now.nanos(),
          TimeUnit.MILLISECONDS.toNanos(answer.parkMillis()));
      notBefore = now.nanos() + (leaving ? Pacing.PUSH_NANOS : pacing.pauseNanos());
      if (outcome != GrantBook.Outcome.OLDER) {
        lease = book.lease();
        parkNanos = TimeUnit.MILLISECONDS.toNanos(answer.parkMillis());
        backoff.succeeded();
        over = trouble;
        trouble = null;
      }
      if (to.last()) {
        stopped = true;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    if (over != null) {
      LOG.info(
          "PgSteward: coordinator {} is usable again after {} ms ({}, epoch {})",
          client.address(),
          TimeUnit.NANOSECONDS.toMillis(now.since(over.since())),
          answer.phase(),
          answer.epoch());
    }
    return outcome;
  }

  private void failed(CoordinatorException e) {
    boolean tell = false;
    lock.lock();
    try {
      Moment now = clock.now();
      inFlight = null;
      if (e.kind() == Kind.CANCELLED) {
        pacing.givenUp();
        notBefore = now.nanos();
        return;
      }
      pacing.failed();
      if (e.nextAtOnce()) {
        notBefore = now.nanos();
        return;
      }
      book.firstExchangeFailed();
      long cap = Math.max(1, book.leaseNanos() / 3);
      long delay = backoff.failed(cap);
      boolean ours = e.kind() == Kind.UNAUTHORIZED || e.kind() == Kind.REJECTED;
      notBefore = now.nanos() + (ours ? cap : delay);
      tell = trouble == null || trouble.kind() != e.kind();
      trouble = new Trouble(e.kind(), e.text(), trouble == null ? now : trouble.since());
      if (leaving) {
        stopped = true;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    if (tell) {
      LOG.warn(
          "PgSteward: the coordinator is not usable: {}. Connections go on within the last grant;"
              + " trying again",
          e.text());
    }
  }

  // ---- the watch's thread

  private void runWatch() {
    try {
      long nextLook = clock.now().nanos();
      while (true) {
        CoordinatorCall old = null;
        boolean look;
        lock.lock();
        try {
          if (stopped) {
            return;
          }
          Moment now = clock.now();
          long due =
              inFlight == null
                  ? Pacing.NEVER
                  : Math.min(pacing.giveUpIn(now.nanos()), changeIn(now));
          if (due == 0) {
            old = inFlight;
            inFlight = null;
          } else {
            changed.awaitNanos(Math.min(due, LOOK_NANOS));
          }
          look = clock.now().nanos() - nextLook >= 0;
        } finally {
          lock.unlock();
        }
        if (old != null) {
          old.cancel();
        }
        if (look) {
          long began = clock.now().nanos();
          look();
          long took = clock.now().nanos() - began;
          nextLook = began + Math.max(LOOK_NANOS, LOOK_SHARE * took);
        }
      }
    } catch (InterruptedException e) {
      LOG.warn("PgSteward: the watch over the session with {} was interrupted", client.address());
      Thread.currentThread().interrupt();
    }
  }

  private void look() {
    List<TenantFigures> figures;
    try {
      figures = tenants.figures();
    } catch (RuntimeException e) {
      LOG.error("PgSteward: the pools' figures could not be read", e);
      return;
    }
    lock.lock();
    try {
      if (reports.newsIn(figures)) {
        pacing.push();
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- what is known

  CoordinatorView view() {
    lock.lock();
    try {
      Moment now = clock.now();
      Trouble standing = trouble;
      return new CoordinatorView(
          client.address(),
          book.phase(),
          standing == null && book.epoch() > 0,
          standing == null ? null : standing.text(),
          standing == null ? 0 : TimeUnit.NANOSECONDS.toMillis(now.since(standing.since())),
          book.coordinatorPhase(),
          book.epoch(),
          book.generation(),
          TimeUnit.NANOSECONDS.toMillis(book.leaseNanos()),
          TimeUnit.NANOSECONDS.toMillis(book.lease().leftNanos(now)),
          book.budget(),
          book.granted());
    } finally {
      lock.unlock();
    }
  }

  CoordinatorView.@Nullable Tenant view(TenantId tenant) {
    lock.lock();
    try {
      return book.view(tenant);
    } finally {
      lock.unlock();
    }
  }
}
