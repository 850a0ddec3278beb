package io.pgsteward.jdbc.internal.pool;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * A lock under which work is only written down: threads are woken, and foreign code is called,
 * after it is released. Thread-safe.
 */
final class WorkLock {

  private final ReentrantLock lock = new ReentrantLock();
  private final SlotWork work;

  /**
   * @param work called without the lock
   */
  WorkLock(SlotWork work) {
    this.work = work;
  }

  /** Runs it under the lock, then does what it has written down. */
  void run(Consumer<SlotWork.Todo> what) {
    ask(
        todo -> {
          what.accept(todo);
          return true;
        });
  }

  /** As {@link #run}, with an answer. */
  boolean ask(Predicate<SlotWork.Todo> what) {
    SlotWork.Todo todo = new SlotWork.Todo();
    boolean answer = read(() -> what.test(todo));
    todo.run(work);
    return answer;
  }

  /** What it gives under the lock, for what leaves no work. */
  <T> T read(Supplier<T> what) {
    lock.lock();
    try {
      return what.get();
    } finally {
      lock.unlock();
    }
  }
}
