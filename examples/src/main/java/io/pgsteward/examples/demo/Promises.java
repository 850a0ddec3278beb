package io.pgsteward.examples.demo;

import java.util.ArrayList;
import java.util.List;

/** What was promised and whether it was kept. Used by one thread. */
final class Promises {

  private record Promise(String text, boolean kept) {}

  private final List<Promise> all = new ArrayList<>();

  /**
   * Notes a promise and says it.
   *
   * @param seen what was seen, with numbers
   */
  void check(String promise, boolean kept, String seen) {
    String text = promise + ": " + seen;
    all.add(new Promise(text, kept));
    System.out.println((kept ? "    kept    " : "    BROKEN  ") + text);
  }

  boolean allKept() {
    return all.stream().allMatch(Promise::kept);
  }

  int size() {
    return all.size();
  }

  List<String> broken() {
    return all.stream().filter(promise -> !promise.kept()).map(Promise::text).toList();
  }
}
