package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.MemberId;
import java.util.concurrent.TimeUnit;

/** The two daemon threads of a {@link CoordinatorSession}. Thread-safe. */
final class SessionThreads {

  private final Thread exchange;
  private final Thread watch;

  SessionThreads(MemberId member, Runnable exchange, Runnable watch) {
    this.exchange = thread(member, "session", exchange);
    this.watch = thread(member, "watch", watch);
  }

  private static Thread thread(MemberId member, String job, Runnable body) {
    Thread thread = new Thread(body, "pgsteward-" + member.value().substring(0, 8) + "-" + job);
    thread.setDaemon(true);
    return thread;
  }

  /** To be called once. */
  void start() {
    exchange.start();
    watch.start();
  }

  /** Waits for the exchange to end, until a moment of {@link System#nanoTime}. */
  void joinExchange(long by) {
    join(exchange, by);
  }

  /** Waits for both to end, until a moment of {@link System#nanoTime}. */
  void joinBoth(long by) {
    join(exchange, by);
    join(watch, by);
  }

  private static void join(Thread thread, long by) {
    if (thread == Thread.currentThread() || thread.getState() == Thread.State.NEW) {
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
}
