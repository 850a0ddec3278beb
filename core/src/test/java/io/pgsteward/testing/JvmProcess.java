package io.pgsteward.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A Java program in a JVM of its own, made small: 64 MB of heap, one compiler. Its output is kept
 * and handed on line by line. Thread-safe.
 *
 * <p>A main class that calls {@link #onCommand} gets the lines of {@link #send}, and ends when the
 * JVM that started it ends.
 */
public final class JvmProcess implements AutoCloseable {

  private static final String GUARD =
      "trap '' INT TERM HUP; cat >/dev/null; kill -KILL $1 2>/dev/null";

  private final String name;
  private final Process process;
  private final Writer commands;
  private final List<String> output = new CopyOnWriteArrayList<>();
  private final Thread reader;

  private JvmProcess(String name, Process process, Consumer<String> onLine) {
    this.name = name;
    this.process = process;
    this.commands = process.outputWriter(StandardCharsets.UTF_8);
    this.reader = new Thread(() -> read(onLine), "output of " + name);
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * Starts a class with {@code main} on the class path of this JVM.
   *
   * @param name for messages
   * @param onLine gets each line of its output, standard and error; called by one thread
   */
  public static JvmProcess start(
      String name, Class<?> main, List<String> arguments, Consumer<String> onLine) {
    List<String> command = java();
    command.addAll(
        List.of("-cp", absolute(System.getProperty("java.class.path", "")), main.getName()));
    command.addAll(arguments);
    return start(name, command, onLine);
  }

  /** Starts a runnable jar. It is killed when this JVM ends, in whatever way. */
  public static JvmProcess startJar(
      String name, Path jar, List<String> arguments, Consumer<String> onLine) {
    List<String> command = java();
    command.addAll(List.of("-jar", jar.toString()));
    command.addAll(arguments);
    JvmProcess started = start(name, command, onLine);
    started.killWithParent();
    return started;
  }

  /** The guard waits for the end of its input, which comes when this JVM ends. */
  private void killWithParent() {
    try {
      Process guard =
          new ProcessBuilder("sh", "-c", GUARD, "guard", Long.toString(process.pid()))
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      process.onExit().thenRun(guard::destroyForcibly);
    } catch (IOException e) {
      process.destroyForcibly();
      throw new UncheckedIOException("the guard of " + name + " could not be started", e);
    }
  }

  private static JvmProcess start(String name, List<String> command, Consumer<String> onLine) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      return new JvmProcess(name, process, onLine);
    } catch (IOException e) {
      throw new UncheckedIOException(name + " could not be started", e);
    }
  }

  private static List<String> java() {
    Path java = Path.of(System.getProperty("java.home", ""), "bin", "java");
    return new ArrayList<>(
        List.of(
            java.toString(),
            "-Xms16m",
            "-Xmx64m",
            "-Xss512k",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-Xshare:auto"));
  }

  /** Entries of a class path may be relative to a directory that a manifest's are not. */
  private static String absolute(String classPath) {
    List<String> entries = new ArrayList<>();
    for (String entry : classPath.split(java.io.File.pathSeparator)) {
      entries.add(Path.of(entry).toAbsolutePath().toString());
    }
    return String.join(java.io.File.pathSeparator, entries);
  }

  private void read(Consumer<String> onLine) {
    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        output.add(line);
        onLine.accept(line);
      }
    } catch (IOException ended) {
      // The process was killed.
    }
  }

  public String name() {
    return name;
  }

  public long pid() {
    return process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Every line of its output so far, the last one last. */
  public List<String> output() {
    return List.copyOf(output);
  }

  /** Gives the program a line to read. Does nothing if it has ended. */
  public synchronized void send(String command) {
    try {
      commands.write(command + "\n");
      commands.flush();
    } catch (IOException ended) {
      // isAlive() and exitCode() tell.
    }
  }

  /** Asks it to end (SIGTERM). Does not wait. */
  public void terminate() {
    process.destroy();
  }

  /** Stops it where it is (SIGSTOP). */
  public void freeze() {
    signal("STOP");
  }

  /** Lets it go on (SIGCONT). */
  public void thaw() {
    signal("CONT");
  }

  private void signal(String signal) {
    try {
      int code =
          new ProcessBuilder("kill", "-" + signal, Long.toString(pid()))
              .inheritIO()
              .start()
              .waitFor();
      if (code != 0) {
        throw new IllegalStateException(name + " could not be sent SIG" + signal);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while " + name + " gets SIG" + signal, e);
    }
  }

  /** Kills it (SIGKILL) and waits until it is gone. */
  public void kill() {
    process.destroyForcibly();
    exitCode(Duration.ofSeconds(30));
  }

  /** Waits until it has ended and all its output was read. */
  public int exitCode(Duration limit) {
    try {
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AssertionError(name + " still runs after " + limit + ":\n" + tail());
      }
      reader.join(limit.toMillis());
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for " + name, e);
    }
  }

  /** The last lines of its output, for messages. */
  public String tail() {
    List<String> all = output();
    return String.join("\n", all.subList(Math.max(0, all.size() - 40), all.size()));
  }

  /** Kills it if it still runs. */
  @Override
  public void close() {
    kill();
  }

  /**
   * To be called by a started program: hands on each line that it is sent, by a daemon thread, and
   * ends the program at once when its parent is gone.
   */
  public static void onCommand(Consumer<String> command) {
    Thread thread = new Thread(() -> readCommands(command), "commands");
    thread.setDaemon(true);
    thread.start();
  }

  @SuppressWarnings("DefaultCharset") // System.in has none of its own
  private static void readCommands(Consumer<String> command) {
    try {
      BufferedReader lines =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        command.accept(line);
      }
    } catch (IOException parentIsGone) {
      // As at the end of the stream.
    }
    Runtime.getRuntime().halt(3);
  }
}
