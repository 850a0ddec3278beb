package io.pgsteward.examples.demo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Errors by cause: those whose texts differ in numbers only are one. Thread-safe: every method
 * locks this.
 */
final class Errors {

  /**
   * How often it was seen.
   *
   * @param text what it said the first time, in one line
   */
  record Seen(long count, String text) {}

  private final Map<String, Seen> byCause = new LinkedHashMap<>();

  /** Gives whether no error of that cause was noted since the last drain. */
  synchronized boolean add(long count, String text) {
    String line = text.replaceAll("\\s+", " ").strip();
    Seen before = byCause.get(cause(line));
    byCause.put(
        cause(line),
        before == null ? new Seen(count, line) : new Seen(before.count + count, before.text));
    return before == null;
  }

  private static String cause(String line) {
    return line.replaceAll("[0-9]+", "#");
  }

  /** Takes everything out. */
  synchronized List<Seen> drain() {
    List<Seen> all = new ArrayList<>(byCause.values());
    byCause.clear();
    return all;
  }
}
