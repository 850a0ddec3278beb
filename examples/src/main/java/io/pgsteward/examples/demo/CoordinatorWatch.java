package io.pgsteward.examples.demo;

import io.pgsteward.protocol.MemberPhase;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.MemberStatus;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import io.pgsteward.testing.BudgetTimeline;
import io.pgsteward.testing.CoordinatorProcess;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Reads the coordinator's status ten times a second and remembers it. Thread-safe: every field is
 * guarded by {@code this}.
 */
final class CoordinatorWatch implements AutoCloseable {

  private static final int INTERVAL_MILLIS = 100;

  /** How long members may still hold what they had while nobody heard them: two leases. */
  private static final int MEMORY_MILLIS = 6_000;

  /**
   * What one look has shown.
   *
   * @param millis wall-clock time after it
   */
  record Look(long millis, InstanceStatus status) {

    /** A figure of one tenant; 0 if the coordinator does not know it yet. */
    int of(String tenant, ToIntFunction<TenantStatus> figure) {
      return status.tenants().stream()
          .filter(known -> known.tenant().equals(tenant + "@" + Bank.DATABASE))
          .mapToInt(figure)
          .sum();
    }

    int granted(String tenant) {
      return of(tenant, TenantStatus::granted);
    }
  }

  private final CoordinatorProcess coordinator;
  private final BudgetTimeline budget = new BudgetTimeline();
  private final List<Look> looks = new ArrayList<>();
  private final Thread thread = new Thread(this::run, "coordinator-watch");
  private boolean answers;
  private int lastBudget = -1;
  private boolean closed;

  CoordinatorWatch(CoordinatorProcess coordinator) {
    this.coordinator = coordinator;
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    try {
      while (look()) {
        TimeUnit.MILLISECONDS.sleep(INTERVAL_MILLIS);
      }
    } catch (InterruptedException closing) {
      // Only close() interrupts this thread.
    }
  }

  private boolean look() {
    InstanceStatus status = null;
    try {
      status = coordinator.instance();
    } catch (IOException notThere) {
      // Said by latest().
    }
    synchronized (this) {
      if (closed) {
        return false;
      }
      long now = System.currentTimeMillis();
      answers = status != null && status.epoch() > 0;
      if (status != null && status.epoch() > 0) {
        looks.add(new Look(now, status));
        lastBudget = status.budget().total();
        budget.seen(now, lastBudget);
      }
      return true;
    }
  }

  /** The last look, or null if the coordinator does not answer. */
  synchronized @Nullable Look latest() {
    return answers ? looks.get(looks.size() - 1) : null;
  }

  /** All looks from one moment on. */
  synchronized List<Look> since(long millis) {
    return looks.stream().filter(look -> look.millis() >= millis).toList();
  }

  /** While nobody answers, the budget is the last one; it cannot have risen before this moment. */
  synchronized void budgetIsStillTheSame() {
    if (lastBudget >= 0) {
      budget.seen(System.currentTimeMillis(), lastBudget);
    }
  }

  /**
   * Whether, shortly before this moment, some member went by the fallback rule or was forgotten, or
   * nobody answered. What such members hold beyond their grants may pass the budget.
   */
  synchronized boolean wasOutOfTouch(long millis) {
    List<Look> before =
        looks.stream()
            .filter(look -> look.millis() > millis - MEMORY_MILLIS && look.millis() <= millis)
            .toList();
    if (before.isEmpty()) {
      return true;
    }
    Set<String> known = new HashSet<>();
    for (Look look : before) {
      Set<String> now = new HashSet<>();
      for (MemberStatus member : look.status().members()) {
        now.add(member.id());
        if (member.phase() == MemberPhase.FALLBACK) {
          return true;
        }
      }
      if (!now.containsAll(known)) {
        return true;
      }
      known = now;
    }
    return false;
  }

  /** The budget in force over time. To be used after close. */
  synchronized BudgetTimeline budget() {
    return budget;
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
