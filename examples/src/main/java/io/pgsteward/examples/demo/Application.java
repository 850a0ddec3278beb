package io.pgsteward.examples.demo;

import io.pgsteward.testing.JvmProcess;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A {@link BankApplication} as the demo sees it: its process and what it last said. */
final class Application implements AutoCloseable {

  /** Begins a line with a count and a cause. */
  static final String ERROR = "error ";

  /** What any of them has logged: 15 processes say the same when the coordinator goes. */
  private static final Set<String> HEARD = ConcurrentHashMap.newKeySet();

  private final String name;
  private final String tenant;
  private final int threads;
  private final WaitHistogram waits;
  private final Errors errors;
  private final JvmProcess process;
  private volatile Usage usage = Usage.NONE;
  private boolean killed;

  /**
   * Starts the process.
   *
   * @param tenant role of the tenant
   * @param waits gets the waits of its borrowers
   * @param errors gets its errors
   */
  Application(
      String name,
      String tenant,
      int threads,
      int thinkMillis,
      String url,
      String coordinator,
      WaitHistogram waits,
      Errors errors) {
    this.errors = errors;
    this.name = name;
    this.tenant = tenant;
    this.threads = threads;
    this.waits = waits;
    this.process =
        JvmProcess.start(
            name,
            BankApplication.class,
            List.of(
                name,
                tenant,
                Stage.password(tenant),
                url,
                coordinator,
                Integer.toString(threads),
                Integer.toString(thinkMillis)),
            this::line);
  }

  private void line(String line) {
    if (Usage.isUsage(line)) {
      Usage read = Usage.read(line);
      waits.add(read.waits());
      usage = read;
    } else if (line.startsWith(ERROR)) {
      String[] parts = line.substring(ERROR.length()).split(" ", 2);
      if (errors.add(Long.parseLong(parts[0]), parts[1])) {
        System.out.println("    error in " + name + ": " + parts[1]);
      }
    } else if (!line.equals("closed") && HEARD.add(line.replaceAll("[0-9]+", "#"))) {
      System.out.println("    " + name + " was the first to say: " + line);
    }
  }

  String name() {
    return name;
  }

  String tenant() {
    return tenant;
  }

  int threads() {
    return threads;
  }

  Usage usage() {
    return usage;
  }

  /** Whether the demo has killed it. */
  boolean killed() {
    return killed;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** SIGKILL. */
  void kill() {
    killed = true;
    process.kill();
  }

  /** Lets it end its transactions and close; {@link #end} waits for it. */
  void askToEnd() {
    process.send("stop");
  }

  /** Waits until it has ended by itself and gives its exit code. */
  int end() {
    return process.exitCode(Duration.ofSeconds(30));
  }

  /** What it last said, for the search for what went wrong. */
  @Override
  public String toString() {
    Usage last = usage;
    return name
        + (process.isAlive() ? "" : " (ended)")
        + ": demand "
        + last.demand()
        + ", limit "
        + last.limit()
        + ", held "
        + last.held()
        + " (opening "
        + last.opening()
        + ", closing "
        + last.closing()
        + "), waiting "
        + last.waiting()
        + ", committed "
        + last.committed();
  }

  @Override
  public void close() {
    process.close();
  }
}
