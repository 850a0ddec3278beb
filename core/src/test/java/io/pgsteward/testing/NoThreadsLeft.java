package io.pgsteward.testing;

import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test after which threads named {@code pgsteward-...} live on that were not there before
 * it. Use: {@code @ExtendWith(NoThreadsLeft.class)}; close what the test opened in the test or in
 * {@code @AfterEach}.
 */
public final class NoThreadsLeft implements BeforeEachCallback, AfterEachCallback {

  private static final String PREFIX = "pgsteward-";
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final ExtensionContext.Namespace NAMESPACE =
      ExtensionContext.Namespace.create(NoThreadsLeft.class);

  @Override
  public void beforeEach(ExtensionContext context) {
    context.getStore(NAMESPACE).put("before", ours());
  }

  @Override
  public void afterEach(ExtensionContext context) throws InterruptedException {
    Set<Thread> before = Set.copyOf(threadsBefore(context));
    long end = System.nanoTime() + LIMIT.toNanos();
    Set<Thread> left = leftBeyond(before);
    while (!left.isEmpty() && System.nanoTime() - end < 0) {
      Thread.sleep(10);
      left = leftBeyond(before);
    }
    if (!left.isEmpty()) {
      throw new AssertionError(
          "threads live on after the test: "
              + left.stream().map(Thread::getName).collect(Collectors.toCollection(TreeSet::new)));
    }
  }

  @SuppressWarnings("unchecked") // put by beforeEach
  private static Set<Thread> threadsBefore(ExtensionContext context) {
    Object before = context.getStore(NAMESPACE).get("before");
    return before == null ? Set.of() : (Set<Thread>) before;
  }

  private static Set<Thread> leftBeyond(Set<Thread> before) {
    return ours().stream().filter(t -> !before.contains(t)).collect(Collectors.toSet());
  }

  private static Set<Thread> ours() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.isAlive() && thread.getName().startsWith(PREFIX))
        .collect(Collectors.toSet());
  }
}
