package io.pgsteward.examples.endtoend;

import io.pgsteward.testing.JvmProcess;
import java.time.Duration;
import java.util.List;

/** A {@link Borrower} in a JVM of its own, seen from the test. */
final class BorrowerProcess implements AutoCloseable {

  /** What it says of itself. */
  record Report(long served, int failed, long longestWaitMicros) {

    private static final String PREFIX = "report ";

    String line() {
      return PREFIX + served + " " + failed + " " + longestWaitMicros;
    }

    static Report read(String line) {
      String[] words = line.substring(PREFIX.length()).split(" ");
      return new Report(
          Long.parseLong(words[0]), Integer.parseInt(words[1]), Long.parseLong(words[2]));
    }
  }

  private final JvmProcess process;
  private volatile Report last = new Report(0, 0, 0);

  BorrowerProcess(String name, List<String> arguments) {
    process = JvmProcess.start(name, Borrower.class, arguments, this::line);
  }

  private void line(String line) {
    if (line.startsWith(Report.PREFIX)) {
      last = Report.read(line);
    } else {
      System.out.println(process.name() + " says: " + line);
    }
  }

  Report last() {
    return last;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Forgets the longest wait so far, and those that are under way. */
  void forget() {
    process.send("forget");
  }

  void askToEnd() {
    process.send("stop");
  }

  int end() {
    return process.exitCode(Duration.ofSeconds(60));
  }

  void kill() {
    process.kill();
  }

  @Override
  public void close() {
    process.close();
  }
}
