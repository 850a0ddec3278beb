package io.pgsteward.testing;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reads a server's log and says which backends served which role from when to when. Pure.
 *
 * <p>A backend counts from its line "connection authorized" to its line "disconnection", which it
 * writes before it leaves its place. A backend whose log shows a refusal never counts: PostgreSQL
 * checks limits, database and password's owner only after "connection authorized" and then ends
 * with FATAL and without "disconnection". The order of the lines decides what came first, since
 * several lines can bear the same millisecond.
 */
public final class ConnectionLog {

  /** {@code log_line_prefix} of the lines that are understood: epoch milliseconds and pid. */
  public static final String LINE_PREFIX = "%n [%p] ";

  private static final Pattern LINE =
      Pattern.compile("(\\d+)\\.(\\d{3}) \\[(\\d+)] ([A-Z]+): {2}(.*)");
  private static final Pattern AUTHORIZED =
      Pattern.compile(
          "connection authorized: user=(.*?) database=(.*?)"
              + "(?: application_name=(.*?))?(?: (?:SSL|GSS) enabled \\(.*\\))?");

  private final Map<Integer, BackendSession> open = new HashMap<>();
  private final List<BackendSession> ended = new ArrayList<>();
  private long order;
  private long lastMillis;

  private ConnectionLog() {}

  /**
   * The backends in the order in which they began. Lines that are not understood are passed over.
   */
  public static List<BackendSession> read(Stream<String> lines) {
    ConnectionLog log = new ConnectionLog();
    lines.forEachOrdered(log::line);
    return Stream.concat(log.ended.stream(), log.open.values().stream())
        .sorted(Comparator.comparingLong(BackendSession::start))
        .toList();
  }

  private void line(String text) {
    Matcher line = LINE.matcher(text);
    if (!line.matches()) {
      return;
    }
    order++;
    lastMillis = Long.parseLong(line.group(1)) * 1000 + Long.parseLong(line.group(2));
    int pid = Integer.parseInt(line.group(3));
    String severity = line.group(4);
    String message = line.group(5);
    if (severity.equals("FATAL")) {
      if (isRefusal(message)) {
        open.remove(pid);
      }
    } else if (message.startsWith("connection authorized: ")) {
      authorized(pid, message);
    } else if (message.startsWith("disconnection: ")) {
      end(pid);
    } else if (message.startsWith("all server processes terminated")
        || message.startsWith("database system is shut down")
        || message.startsWith("starting PostgreSQL")) {
      List.copyOf(open.keySet()).forEach(this::end);
    }
  }

  private void authorized(int pid, String message) {
    Matcher who = AUTHORIZED.matcher(message);
    if (!who.matches()) {
      throw new IllegalStateException("a line of the server's log is not understood: " + message);
    }
    end(pid);
    String application = who.group(3) == null ? "" : who.group(3);
    open.put(
        pid,
        new BackendSession(
            pid,
            who.group(1),
            who.group(2),
            application,
            order,
            lastMillis,
            Long.MAX_VALUE,
            Long.MAX_VALUE));
  }

  private void end(int pid) {
    BackendSession session = open.remove(pid);
    if (session != null) {
      ended.add(
          new BackendSession(
              pid,
              session.role(),
              session.database(),
              session.application(),
              session.start(),
              session.startMillis(),
              order,
              lastMillis));
    }
  }

  /** Whether a FATAL ends a backend that never served. The others end one that did. */
  private static boolean isRefusal(String message) {
    return !message.startsWith("terminating connection")
        && !message.startsWith("connection to client lost");
  }
}
