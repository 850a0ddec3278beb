package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
 * <p><b>The watch.</b> A second daemon thread, {@link SessionWatch}, gives the call in flight up
 * when there is news that the coordinator should hear, or when the lease ends, since then the
 * limits change.
 *
 * <p>Lock rule: {@code lock} guards the fields marked so; no call to pools, client or logger is
 * made under it. Thread-safe.
 */
final class CoordinatorSession {

  private static final long FIRST_DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final MemberId member;
  private final SessionSettings settings;
  private final CoordinatorClient client;
  private final MemberClock clock;
  private final SessionTenants tenants;
  private final LostGrants lostGrants;
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
  private boolean started; // guarded by lock

  private final SessionThreads threads;

  private volatile boolean urgent;

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
    Moment start = clock.now();
    this.book = new GrantBook(start, settings.lease().toNanos());
    this.reports = new Reports(settings.instance(), settings.name());
    this.pacing = new Pacing(() -> ThreadLocalRandom.current().nextDouble());
    this.backoff = new Backoff(FIRST_DELAY_NANOS, () -> ThreadLocalRandom.current().nextDouble());
    this.notBefore = start.nanos();
    this.parkNanos = settings.park().toNanos();
    this.lostGrants = new LostGrants(clock, book.lease());
    this.threads =
        new SessionThreads(member, this::runExchange, new SessionWatch(this, tenants, clock));
  }

  /** Starts the threads; the first report goes out at once. Without effect once started. */
  void start() {
    lock.lock();
    try {
      if (started || stopped) {
        return;
      }
      started = true;
    } finally {
      lock.unlock();
    }
    threads.start();
  }

  /**
   * A tenant has a pool from now on.
   *
   * @param cap the most that this process wants to hold
   * @param connectTimeout the longest that one opening of its connections can last
   * @return the limit that it goes by until the session says otherwise
   */
  int register(TenantId tenant, int fallbackSlots, int cap, Duration connectTimeout) {
    return locked(
        () -> {
          book.register(tenant, fallbackSlots, cap);
          connectTimeoutMillis = Math.max(connectTimeoutMillis, connectTimeout.toMillis());
          return book.limit(tenant);
        });
  }

  /** A tenant has no pool any more; {@link #urgent} tells the coordinator so. */
  void retire(TenantId tenant) {
    lock.lock();
    try {
      book.retire(tenant);
    } finally {
      lock.unlock();
    }
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
        old = takeCall();
      } else {
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    cancel(old);
  }

  /**
   * A pool is about to open a connection and holds none. If the lease has ended by now, the tenant
   * has lost its grant. Takes no lock and may be called under the pool's.
   *
   * @param limit what the pool goes by
   * @return what it goes by from now on
   */
  int limitFromEmpty(TenantId tenant, int limit, int fallbackSlots) {
    return lostGrants.limitFromEmpty(tenant, limit, fallbackSlots);
  }

  /**
   * Gives everything back: reports with demand 0 until nothing is held but what the application has
   * on loan, or until the time is up, then ends the threads. Blocks at most about that time.
   */
  void leave(Duration within) {
    CoordinatorCall old;
    long by = System.nanoTime() + within.toNanos();
    lock.lock();
    try {
      leaving = true;
      leaveBy = by;
      notBefore = clock.now().nanos();
      old = takeCall();
      if (!started || (trouble != null && book.epoch() == 0)) {
        stopped = true;
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    cancel(old);
    threads.joinExchange(by);
    stop();
    threads.joinBoth(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500));
  }

  private void stop() {
    CoordinatorCall old;
    lock.lock();
    try {
      stopped = true;
      book.closed();
      old = takeCall();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    cancel(old);
    client.close();
  }

  private @Nullable CoordinatorCall takeCall() {
    CoordinatorCall call = inFlight;
    inFlight = null;
    return call;
  }

  private static void cancel(@Nullable CoordinatorCall call) {
    if (call != null) {
      call.cancel();
    }
  }

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
          SessionLog.failed(client.address(), e);
          failed(new CoordinatorException(Kind.UNUSABLE, "failed: " + e, false, e));
        }
      }
    } catch (InterruptedException e) {
      SessionLog.interrupted(client.address());
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
        long change = book.changesIn(now, settings.joinGrace().toNanos());
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

  /** Steps 1 to 3 of a turn. */
  private List<TenantFigures> goBy() {
    while (true) {
      Map<TenantId, Integer> limits;
      Map<TenantId, String> refusals;
      boolean fellBack;
      long leaseNanos;
      lock.lock();
      try {
        fellBack = lostGrants.tell(book);
        if (book.changesIn(clock.now(), settings.joinGrace().toNanos()) == 0) {
          book.firstExchangeFailed();
        }
        urgent = false;
        pacing.reading();
        limits = book.limits();
        leaseNanos = book.leaseNanos();
        refusals = book.refusals();
      } finally {
        lock.unlock();
      }
      if (fellBack) {
        SessionLog.fellBack(client.address(), leaseNanos);
      }
      try {
        tenants.apply(limits, refusals);
      } finally {
        lostGrants.applied();
      }
      List<TenantFigures> figures = tenants.report();
      if (!losesGrants(figures)) {
        return figures;
      }
    }
  }

  private boolean losesGrants(List<TenantFigures> figures) {
    return locked(() -> book.losesGrants(figures)) || lostGrants.isAnyUntold();
  }

  private @Nullable Prepared prepare() {
    List<TenantFigures> figures = goBy();
    SyncRequest request;
    CallTimeouts timeouts;
    lock.lock();
    try {
      boolean renews = book.needsAnswer(clock.now());
      request = reports.next(book, figures, connectTimeoutMillis, leaving, renews);
      long left = leaving ? leaveBy - System.nanoTime() : Long.MAX_VALUE;
      timeouts = CallTimeouts.of(book.leaseNanos(), renews ? 0 : parkNanos, left);
    } finally {
      lock.unlock();
    }
    // Loans are the application's: they are not waited for, and PostgreSQL shows when they end.
    boolean last = request.leaving() && figures.stream().allMatch(of -> of.held() == of.inUse());
    CoordinatorCall call = client.call(member, request, timeouts.read(), timeouts.connect());
    lock.lock();
    try {
      if (stopped || leaving != request.leaving()) {
        return null;
      }
      Moment sent = clock.now();
      inFlight = call;
      pacing.sent(sent.nanos(), request.renews());
      changed.signalAll(); // news that came while the figures were read gives this call up
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
      tenants.gone(answer.tenants());
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
        lostGrants.renewed(book.lease());
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
      SessionLog.usableAgain(client.address(), now.since(over.since()), answer);
    }
    return outcome;
  }

  private void failed(CoordinatorException e) {
    String goingBy;
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
      goingBy = trouble == null || trouble.kind() != e.kind() ? book.goingBy() : null;
      trouble = Trouble.after(trouble, e, now);
      if (leaving) {
        stopped = true;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    if (goingBy != null) {
      SessionLog.unusable(e.text(), goingBy);
    }
  }

  /**
   * Gives the call in flight up if that is due, or else waits until it may be, at most for a while.
   *
   * @return false once the session has stopped
   */
  boolean watch(long longestNanos) throws InterruptedException {
    CoordinatorCall old = null;
    lock.lock();
    try {
      if (stopped) {
        return false;
      }
      Moment now = clock.now();
      long due =
          inFlight == null
              ? Pacing.NEVER
              : Math.min(
                  pacing.giveUpIn(now.nanos()),
                  book.changesIn(now, settings.joinGrace().toNanos()));
      if (due == 0) {
        old = takeCall();
      } else {
        changed.awaitNanos(Math.min(due, longestNanos));
      }
    } finally {
      lock.unlock();
    }
    cancel(old);
    return true;
  }

  /** The figures of this moment; if the coordinator should hear of them, the call is given up. */
  void seen(List<TenantFigures> figures) {
    lock.lock();
    try {
      if (reports.newsIn(figures)) {
        pacing.push();
      }
    } finally {
      lock.unlock();
    }
  }

  CoordinatorView view() {
    return locked(() -> CoordinatorView.of(client.address(), book, trouble, clock.now()));
  }

  CoordinatorView.@Nullable Tenant view(TenantId tenant) {
    lock.lock();
    try {
      return book.view(tenant);
    } finally {
      lock.unlock();
    }
  }

  private <T> T locked(Supplier<T> action) {
    lock.lock();
    try {
      return action.get();
    } finally {
      lock.unlock();
    }
  }
}
