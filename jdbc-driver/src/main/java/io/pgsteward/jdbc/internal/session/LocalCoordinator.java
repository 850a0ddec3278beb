package io.pgsteward.jdbc.internal.session;

import io.pgsteward.coordination.ControlLoop;
import io.pgsteward.coordination.ControlLoopListener;
import io.pgsteward.coordination.CoordinatorSettings;
import io.pgsteward.coordination.SyncRefusedException;
import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.LeaderSession;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The coordinator in this process and for this process alone ({@code coordinator=local}): the same
 * control loop as the server runs, over a control session of the application's own role. It leads
 * only with the leader's lock, so of several such processes one has the budget and the others go by
 * {@code fallbackSlots}; they keep asking for the lock.
 *
 * <p>Nothing runs before the first call. The roles of the tenants that are reported are the managed
 * ones; when another one turns up the loop is started again with all of them, which is a new term.
 *
 * <p>Lock rule: this guards the fields; nothing that blocks is called under it. Thread-safe.
 */
final class LocalCoordinator implements CoordinatorClient {

  private static final Logger LOG = LoggerFactory.getLogger(LocalCoordinator.class);
  private static final int MARGIN = 3;
  private static final Duration OBSERVE_EVERY = Duration.ofSeconds(1);
  private static final Duration AFTER_REFUSAL = Duration.ofSeconds(30);
  private static final Duration LONGEST_STOP = Duration.ofSeconds(2);

  /** Makes sessions that have not connected yet: the seam to the database. */
  interface Sessions {
    LeaderSession create();
  }

  private final Sessions sessions;
  private final InstanceId instance;
  private final Duration lease;
  private final Ticker ticker;

  private final Set<String> roles = new HashSet<>(); // guarded by this
  private @Nullable CompletableFuture<ControlLoop> loop; // guarded by this
  private @Nullable LeaderSession session; // guarded by this
  private boolean closed; // guarded by this
  private @Nullable SQLException refusal; // guarded by this
  private long refusedNanos; // guarded by this

  /** Why PostgreSQL could not be looked at last; null while it can. */
  private volatile @Nullable Exception away;

  LocalCoordinator(Sessions sessions, InstanceId instance, Duration lease, Ticker ticker) {
    this.sessions = sessions;
    this.instance = instance;
    this.lease = lease;
    this.ticker = ticker;
  }

  /** On the server and with the role that the settings name. */
  static LocalCoordinator of(MemberSettings settings) {
    Duration lease = SessionSettings.DEFAULT_LEASE;
    return new LocalCoordinator(
        new ControlSessions(settings, lease, Ticker.system()),
        new InstanceId("local"),
        lease,
        Ticker.system());
  }

  @Override
  public CoordinatorCall call(
      MemberId member, SyncRequest request, Duration readTimeout, Duration connectTimeout) {
    return new LocalCall(member, request, readTimeout);
  }

  @Override
  public boolean askAnother() {
    return false;
  }

  @Override
  public String address() {
    return "local";
  }

  @Override
  public void close() {
    CompletableFuture<ControlLoop> last;
    LeaderSession control;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      last = loop;
      control = session;
    }
    if (last == null) {
      return;
    }
    if (!last.isDone() && control != null) {
      control.close(); // ends a start that is under way
    }
    Thread stop =
        thread(
            "stop",
            () -> last.thenAccept(ControlLoop::close).exceptionally(failedToStart -> null).join());
    stop.start();
    boolean interrupted = Thread.interrupted();
    try {
      TimeUnit.NANOSECONDS.timedJoin(stop, LONGEST_STOP.toNanos());
    } catch (InterruptedException e) {
      interrupted = true; // the caller is in a hurry; the thread ends by itself
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static Thread thread(String job, Runnable body) {
    Thread thread = new Thread(body, "pgsteward-local-" + job);
    thread.setDaemon(true);
    return thread;
  }

  // ---- the loop's life

  /** The loop that manages these roles, started if there is none. Never blocks. */
  private CompletableFuture<ControlLoop> loopFor(Collection<String> wanted) {
    CompletableFuture<ControlLoop> next;
    CompletableFuture<ControlLoop> before;
    Set<String> managed;
    synchronized (this) {
      before = loop;
      if (closed) {
        return CompletableFuture.failedFuture(new IllegalStateException("the member is closed"));
      }
      if (before != null && !before.isDone()) {
        return before.handle((done, failure) -> wanted).thenCompose(this::loopFor);
      }
      if (before != null && !before.isCompletedExceptionally() && roles.containsAll(wanted)) {
        return before;
      }
      if (refusal != null && ticker.nanos() - refusedNanos < AFTER_REFUSAL.toNanos()) {
        return CompletableFuture.failedFuture(refusal);
      }
      roles.addAll(wanted);
      managed = Set.copyOf(roles);
      next = new CompletableFuture<>();
      loop = next;
    }
    CompletableFuture<ControlLoop> old = before;
    thread("start", () -> start(next, old, managed)).start();
    return next;
  }

  private void start(
      CompletableFuture<ControlLoop> next,
      @Nullable CompletableFuture<ControlLoop> old,
      Set<String> managed) {
    try {
      if (old != null && !old.isCompletedExceptionally()) {
        old.join().close();
      }
      LeaderSession control = sessions.create();
      synchronized (this) {
        session = control;
        if (closed) {
          throw new IllegalStateException("the member is closed");
        }
      }
      ControlLoop started = new ControlLoop(settings(managed), control, ticker, new Listener());
      started.start();
      next.complete(started);
    } catch (SQLException e) {
      remember(e);
      next.completeExceptionally(e);
    } catch (RuntimeException e) {
      next.completeExceptionally(e);
    }
  }

  /** A login that PostgreSQL refuses is not repeated every few seconds. */
  private synchronized void remember(SQLException failure) {
    String state = failure.getSQLState();
    refusal = state != null && state.startsWith("28") ? failure : null;
    refusedNanos = ticker.nanos();
  }

  private CoordinatorSettings settings(Set<String> managed) {
    PolicyBook.Builder policies = PolicyBook.builder();
    for (String role : new TreeSet<>(managed)) {
      String text = TenantId.of(role, "any").toString();
      String name = text.substring(0, text.indexOf('@'));
      policies.tenant(name + "@*", TenantPolicy.DEFAULT);
      policies.tenant(name + "@*/*", TenantPolicy.DEFAULT);
    }
    return new CoordinatorSettings(
        instance,
        lease,
        lease.dividedBy(3),
        OBSERVE_EVERY,
        MARGIN,
        policies.build(),
        false,
        EnforceMode.OFF);
  }

  private static Set<String> rolesOf(SyncRequest request) {
    Set<String> roles = new HashSet<>();
    request.tenants().forEach(of -> roles.add(TenantId.parse(of.tenant()).role()));
    return roles;
  }

  // ---- a call

  /** One sync with the loop in this process. */
  private final class LocalCall implements CoordinatorCall {
    private final MemberId member;
    private final SyncRequest request;
    private final Duration readTimeout;
    private final CompletableFuture<SyncResponse> end = new CompletableFuture<>();

    LocalCall(MemberId member, SyncRequest request, Duration readTimeout) {
      this.member = member;
      this.request = request;
      this.readTimeout = readTimeout;
    }

    @Override
    public SyncResponse execute() throws CoordinatorException {
      if (!end.isDone()) {
        loopFor(rolesOf(request)).thenCompose(this::sync).whenComplete(this::ended);
      }
      try {
        return end.get(readTimeout.toNanos(), TimeUnit.NANOSECONDS);
      } catch (ExecutionException e) {
        throw failure(e.getCause() == null ? e : e.getCause());
      } catch (TimeoutException e) {
        throw new CoordinatorException(
            Kind.UNREACHABLE,
            "coordinator local has not answered for " + readTimeout.toMillis() + " ms",
            false,
            e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CoordinatorException(Kind.CANCELLED, "interrupted", false, e);
      }
    }

    /** A call that was cancelled while the loop started is not sent any more. */
    private CompletableFuture<SyncResponse> sync(ControlLoop started) {
      return end.isDone() ? end : started.sync(member, request, address());
    }

    private void ended(@Nullable SyncResponse answer, @Nullable Throwable failure) {
      if (answer != null) {
        end.complete(answer);
      } else if (failure != null) {
        end.completeExceptionally(failure);
      }
    }

    @Override
    public void cancel() {
      end.completeExceptionally(
          new CoordinatorException(Kind.CANCELLED, "call ended by this member", false, null));
    }
  }

  private CoordinatorException failure(Throwable thrown) {
    Throwable cause = thrown;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof CoordinatorException failure) {
      return failure;
    }
    if (cause instanceof LeadershipHeldException held) {
      return notLeading(held.holder(), held);
    }
    if (cause instanceof SyncRefusedException refused) {
      return switch (refused.reason()) {
        case NOT_LEADING ->
            refused.leader() == null
                ? noSession(away == null ? refused : away)
                : notLeading(refused.leader(), refused);
        case BAD_REQUEST, LEFT ->
            new CoordinatorException(
                Kind.REJECTED, "coordinator local: " + refused.getMessage(), false, refused);
        case CLOSING ->
            new CoordinatorException(
                Kind.UNUSABLE, "coordinator local: " + refused.getMessage(), false, refused);
      };
    }
    return cause instanceof SQLException
        ? noSession(cause)
        : new CoordinatorException(
            Kind.UNUSABLE, "coordinator local failed: " + cause.getMessage(), false, cause);
  }

  private static CoordinatorException noSession(Throwable cause) {
    return new CoordinatorException(
        Kind.UNREACHABLE, "coordinator local does not lead: " + cause.getMessage(), false, cause);
  }

  private static CoordinatorException notLeading(String holder, Throwable cause) {
    boolean process = holder.startsWith(ControlSessions.ADDRESS_PREFIX);
    return new CoordinatorException(
        Kind.NOT_LEADING,
        (process
                ? "another process coordinates on this PostgreSQL server ("
                    + holder
                    + "), so this one has fallbackSlots connections per tenant. coordinator=local is"
                    + " for one process: when several share a server, run the coordinator and set"
                    + " coordinator=http://HOST:7432 in all of them"
                : "a coordinator at "
                    + holder
                    + " leads on this PostgreSQL server, so this process has fallbackSlots"
                    + " connections per tenant; set coordinator=http://"
                    + holder)
            + " ["
            + cause.getMessage()
            + "]",
        false,
        cause);
  }

  /** What of the loop is worth a line: members and budgets show in snapshots. */
  private final class Listener implements ControlLoopListener {

    @Override
    public void observationFailed(Exception cause) {
      away = cause;
      LOG.debug("PgSteward: the local coordinator cannot look at PostgreSQL", cause);
    }

    @Override
    public void observationRecovered() {
      away = null;
    }

    @Override
    public void failed(Exception cause) {
      LOG.error("PgSteward: the local coordinator failed in one round; it goes on", cause);
    }
  }
}
