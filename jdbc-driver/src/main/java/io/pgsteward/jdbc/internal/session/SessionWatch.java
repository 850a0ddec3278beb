package io.pgsteward.jdbc.internal.session;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The second thread of a {@link CoordinatorSession}: gives the call in flight up when there is news
 * that the coordinator should hear, or when the lease ends. It looks at the pools' figures and
 * changes nothing there. Runs on one thread.
 */
final class SessionWatch implements Runnable {

  private static final Logger LOG = LoggerFactory.getLogger(CoordinatorSession.class);

  /** How often it looks at the figures, and at most one part in how many of its time. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int LOOK_SHARE = 50;

  private final CoordinatorSession session;
  private final SessionTenants tenants;
  private final MemberClock clock;

  SessionWatch(CoordinatorSession session, SessionTenants tenants, MemberClock clock) {
    this.session = session;
    this.tenants = tenants;
    this.clock = clock;
  }

  @Override
  public void run() {
    try {
      long nextLook = clock.now().nanos();
      while (session.watch(LOOK_NANOS)) {
        long began = clock.now().nanos();
        if (began - nextLook >= 0) {
          look();
          long took = clock.now().nanos() - began;
          nextLook = began + Math.max(LOOK_NANOS, LOOK_SHARE * took);
        }
      }
    } catch (InterruptedException e) {
      LOG.warn("PgSteward: the watch over a session with the coordinator was interrupted");
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
    session.seen(figures);
  }
}
