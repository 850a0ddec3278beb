package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * A member in a {@link SimulatedWorld}: a pool as a few counters around the real book of grants.
 * Its process can be paused, with its monotonic clock standing still or not, and cut off.
 */
final class SimulatedMember {

  private static final TenantId TENANT = TenantId.of(SimulatedWorld.ROLE, "shop");
  private static final long CONNECT_TIMEOUT_MILLIS = 400;

  private final SimulatedWorld world;
  private final MemberId id;
  private final GrantBook book;
  private final Reports reports = new Reports("main", "sim");
  private final Deque<Integer> idle = new ArrayDeque<>();
  private final Deque<Integer> inUse = new ArrayDeque<>();
  private final List<Integer> closing = new ArrayList<>();
  private int opening;
  private int limit;
  private int wanted;
  private int reported;
  private long call;
  private boolean waits;
  private long sentAt;
  private boolean cutOff;
  private boolean quiet;
  private long pausedUntil;
  private long frozen;

  SimulatedMember(SimulatedWorld world, MemberId id) {
    this.world = world;
    this.id = id;
    this.book = new GrantBook(moment(), SimulatedWorld.LEASE.toNanos());
    book.register(TENANT, 0, 100);
  }

  MemberId id() {
    return id;
  }

  int held() {
    return opening + idle.size() + inUse.size() + closing.size();
  }

  int open() {
    return idle.size() + inUse.size();
  }

  void start() {
    turn();
    watch();
    live();
  }

  // ---- what happens to it

  void cutOff(boolean now) {
    cutOff = now;
  }

  /** No faults and no changes of demand from now on. */
  void quiet(int demand) {
    quiet = true;
    cutOff = false;
    wanted = demand;
    mine(0, this::settle);
  }

  void pause(long nanos, boolean clockStops) {
    pausedUntil = Math.max(pausedUntil, world.now() + nanos);
    if (clockStops) {
      frozen += nanos;
    }
  }

  /** Does something in this process: later, if it is paused by then. */
  private void mine(long nanos, Runnable what) {
    world.after(
        nanos,
        () -> {
          if (world.now() < pausedUntil) {
            mine(pausedUntil - world.now() + world.random.nextInt(1000), what);
          } else {
            what.run();
          }
        });
  }

  /** The monotonic clock does not run while the machine sleeps; the wall clock does. */
  private Moment moment() {
    return new Moment(world.now() - frozen, world.now() / 1_000_000);
  }

  // ---- its application

  private void live() {
    mine(
        SimulatedWorld.millis(world.between(20, 1500)),
        () -> {
          if (!quiet) {
            wanted = world.random.nextInt(4) == 0 ? 0 : world.between(0, 8);
            settle();
            live();
          }
        });
  }

  // ---- its pool

  private void settle() {
    while (inUse.size() < wanted && !idle.isEmpty() && opening + open() <= limit) {
      lend(idle.removeFirst());
    }
    while (opening + open() > limit && !idle.isEmpty()) {
      close(idle.removeLast());
    }
    while (inUse.size() + opening < wanted && held() < limit) {
      if (held() == 0) {
        limit = fromEmpty();
        if (limit == 0) {
          break;
        }
      }
      begin();
    }
    if (wanted > reported && waits && world.now() - sentAt > SimulatedWorld.millis(2)) {
      turn();
    }
  }

  private int fromEmpty() {
    Lease lease = book.lease();
    return lease.nanos() > 0 && lease.endedAt(moment()) ? 0 : limit;
  }

  private void lend(int pid) {
    inUse.add(pid);
    mine(SimulatedWorld.millis(world.between(1, 200)), () -> giveBack(pid));
  }

  private void giveBack(int pid) {
    if (!inUse.remove((Integer) pid)) {
      return;
    }
    if (opening + open() + 1 > limit) {
      close(pid);
    } else {
      idle.addFirst(pid);
    }
    settle();
  }

  private void begin() {
    opening++;
    boolean slow = world.random.nextInt(20) == 0;
    int before = world.between(1, slow ? 300 : 20);
    int rest = world.between(1, 20);
    // The login goes on at PostgreSQL whether or not this process is awake.
    world.after(
        SimulatedWorld.millis(before),
        () -> {
          int pid = world.login();
          mine(SimulatedWorld.millis(rest), () -> opened(pid));
        });
  }

  private void opened(int pid) {
    opening--;
    if (opening + open() + 1 > limit) {
      close(pid);
    } else {
      idle.addFirst(pid);
    }
    settle();
  }

  private void close(int pid) {
    closing.add(pid);
    world.after(
        SimulatedWorld.millis(world.between(1, 40)),
        () -> {
          world.logout(pid);
          mine(
              SimulatedWorld.millis(world.between(0, 3)),
              () -> {
                closing.remove((Integer) pid);
                settle();
                if (waits) {
                  turn(); // a slot was released
                }
              });
        });
  }

  // ---- its session

  private void watch() {
    mine(
        SimulatedWorld.millis(100),
        () -> {
          boolean leaseEnded =
              book.phase() == MemberPhase.GRANTED && book.lease().endedAt(moment());
          boolean news = reports.newsIn(List.of(figures()));
          boolean due = world.now() - sentAt > SimulatedWorld.millis(250);
          if (waits && (leaseEnded || (news && due))) {
            turn();
          } else if (leaseEnded) {
            goBy();
          }
          watch();
        });
  }

  private TenantFigures figures() {
    List<Integer> pids = new ArrayList<>(idle);
    pids.addAll(inUse);
    pids.addAll(closing);
    pids.sort(null);
    return new TenantFigures(
        TENANT,
        Math.max(wanted, inUse.size()),
        Math.max(0, wanted - inUse.size()),
        0,
        opening,
        open(),
        closing.size(),
        inUse.size(),
        pids);
  }

  private TenantFigures goBy() {
    while (true) {
      book.passed(moment());
      limit = book.limit(TENANT);
      settleWithoutTurn();
      TenantFigures figures = figures();
      boolean lost =
          book.phase() == MemberPhase.FALLBACK
              && figures.held() == 0
              && book.emptied(TENANT, book.lease().serial());
      if (!lost) {
        return figures;
      }
    }
  }

  private void settleWithoutTurn() {
    boolean before = waits;
    waits = false;
    settle();
    waits = before;
  }

  /** One turn of the exchange; a call that is under way is given up. */
  private void turn() {
    TenantFigures figures = goBy();
    SyncRequest request =
        reports.next(
            book, List.of(figures), CONNECT_TIMEOUT_MILLIS, false, book.needsAnswer(moment()));
    reported = figures.demand();
    long mine = ++call;
    waits = true;
    sentAt = world.now();
    Moment sent = moment();
    mine(SimulatedWorld.PARK_NANOS + SimulatedWorld.LEASE.toNanos() / 3, () -> failed(mine));
    if (lost()) {
      return;
    }
    world.after(
        latency(),
        () ->
            world.arrives(
                this,
                request,
                answer -> {
                  if (!lost()) {
                    mine(latency(), () -> answered(mine, answer, sent));
                  }
                },
                () -> mine(latency(), () -> failed(mine))));
  }

  private boolean lost() {
    return cutOff || (isLossy() && world.random.nextInt(50) == 0);
  }

  private boolean isLossy() {
    return world.isLossy() && !quiet;
  }

  private long latency() {
    boolean late = isLossy() && world.random.nextInt(30) == 0;
    return SimulatedWorld.millis(late ? world.between(50, 900) : world.between(0, 3));
  }

  private void answered(long of, SyncResponse answer, Moment sent) {
    if (of != call || !waits) {
      return;
    }
    waits = false;
    book.answered(answer, sent, moment());
    turn();
  }

  private void failed(long of) {
    if (of != call || !waits) {
      return;
    }
    waits = false;
    book.firstExchangeFailed();
    mine(SimulatedWorld.millis(world.between(50, 1000)), () -> retry(of));
  }

  private void retry(long of) {
    if (of == call && !waits) {
      turn();
    }
  }

  @Override
  public String toString() {
    return id
        + " wants "
        + wanted
        + ", limit "
        + limit
        + ", opening "
        + opening
        + ", open "
        + open()
        + ", closing "
        + closing.size()
        + ", "
        + book.phase()
        + " "
        + book.epoch()
        + "/"
        + book.generation();
  }
}
