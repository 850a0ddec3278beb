package io.pgsteward.server.config;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One group of keys, read field by field. A field that is wrong is reported and read as its
 * default, so that reading goes on to the next mistake. {@link #finish} reports the keys that
 * nobody asked for. Used by one thread.
 */
final class Section {

  private static final Pattern DURATION = Pattern.compile("(0|[1-9][0-9]{0,8})(ms|s|m|h)");
  private static final Pattern WHOLE = Pattern.compile("-?(0|[1-9][0-9]*)");

  private final String path;
  private final int line;
  private final Problems problems;
  private final Map<String, YamlNode.Entry> entries = new LinkedHashMap<>();
  private final TreeSet<String> known = new TreeSet<>();

  /**
   * @param line where the group is opened: what is missing in it is missing there
   */
  Section(YamlNode.Mapping mapping, int line, String path, Problems problems) {
    this.path = path;
    this.line = line;
    this.problems = problems;
    mapping.entries().forEach(e -> entries.put(e.key(), e));
  }

  /** The line of a key, or of the group when the key is not there. */
  int line(String key) {
    YamlNode.Entry entry = entries.get(key);
    return entry == null ? line : entry.line();
  }

  String path(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  boolean has(String key) {
    return entries.containsKey(key);
  }

  void problem(String key, String message) {
    problems.add(line(key), path(key), message);
  }

  void problemAt(Text text, String message) {
    problems.add(text.line(), text.path(), message);
  }

  boolean isEmpty() {
    return entries.isEmpty();
  }

  /** The value of a key, or null when it is left out or empty; empty is a problem. */
  @Nullable YamlNode value(String key) {
    known.add(key);
    YamlNode.Entry entry = entries.get(key);
    if (entry == null) {
      return null;
    }
    if (entry.value() instanceof YamlNode.Empty) {
      problem(key, "has no value; give one or leave the key out");
      return null;
    }
    return entry.value();
  }

  /** A single value as written, or null when it is left out or wrong. */
  @Nullable String text(String key) {
    YamlNode value = value(key);
    if (value == null) {
      return null;
    }
    if (value instanceof YamlNode.Scalar scalar && !scalar.text().isBlank()) {
      return scalar.text();
    }
    problem(
        key,
        value instanceof YamlNode.Scalar
            ? "is blank"
            : "must be a single value, but it is " + value.kind());
    return null;
  }

  /** A whole number within the bounds, or {@code otherwise} when it is left out or wrong. */
  int number(String key, int otherwise, int least, int most) {
    String text = text(key);
    if (text == null) {
      return otherwise;
    }
    if (WHOLE.matcher(text).matches() && text.length() <= 11) {
      long number = Long.parseLong(text);
      if (number >= least && number <= most) {
        return (int) number;
      }
    }
    String bounds =
        most == Integer.MAX_VALUE ? " of at least " + least : " from " + least + " to " + most;
    problem(key, "must be a whole number" + bounds + ", but it is \"" + text + "\"");
    return otherwise;
  }

  /** A duration within the bounds, or null when it is left out or wrong. */
  @Nullable Duration duration(String key, Duration least, Duration most) {
    String text = text(key);
    if (text == null) {
      return null;
    }
    Matcher matcher = DURATION.matcher(text);
    if (!matcher.matches()) {
      problem(key, "must be a duration such as 250ms, 15s or 2m, but it is \"" + text + "\"");
      return null;
    }
    long amount = Long.parseLong(matcher.group(1));
    Duration duration =
        switch (matcher.group(2)) {
          case "ms" -> Duration.ofMillis(amount);
          case "s" -> Duration.ofSeconds(amount);
          case "m" -> Duration.ofMinutes(amount);
          default -> Duration.ofHours(amount);
        };
    if (duration.compareTo(least) < 0 || duration.compareTo(most) > 0) {
      problem(key, "must be from " + write(least) + " to " + write(most) + ", but it is " + text);
      return null;
    }
    return duration;
  }

  /** A duration as this file writes it. */
  static String write(Duration duration) {
    long millis = duration.toMillis();
    if (millis % 1000 != 0) {
      return millis + "ms";
    }
    return millis % 60_000 == 0 && millis > 60_000 ? millis / 60_000 + "m" : millis / 1000 + "s";
  }

  /** A group of keys, or null when it is left out or wrong. */
  @Nullable Section section(String key) {
    YamlNode value = value(key);
    if (value == null) {
      return null;
    }
    if (value instanceof YamlNode.Mapping mapping) {
      return new Section(mapping, line(key), path(key), problems);
    }
    problem(key, "must be a group of keys, but it is " + value.kind());
    return null;
  }

  /** Every key as a group of its own: a map from names that the author chose. */
  List<Named> groups() {
    List<Named> groups = new ArrayList<>();
    for (String name : List.copyOf(entries.keySet())) {
      Section group = section(name);
      if (group != null) {
        groups.add(new Named(name, line(name), group));
      }
    }
    return groups;
  }

  /** One name of the author's and its group. */
  record Named(String name, int line, Section group) {}

  /** The items of a list, each with its place; empty when it is left out or wrong. */
  List<Item> items(String key) {
    YamlNode value = value(key);
    if (value == null) {
      return List.of();
    }
    if (!(value instanceof YamlNode.Sequence sequence)) {
      problem(key, "must be a list, but it is " + value.kind());
      return List.of();
    }
    List<Item> items = new ArrayList<>();
    for (YamlNode node : sequence.items()) {
      items.add(new Item(node, path(key) + "[" + items.size() + "]"));
    }
    return items;
  }

  /** One item of a list. */
  record Item(YamlNode node, String path) {}

  /** The items of a list of single values; other items are reported and left out. */
  List<Text> texts(String key) {
    List<Text> texts = new ArrayList<>();
    for (Item item : items(key)) {
      if (item.node() instanceof YamlNode.Scalar scalar && !scalar.text().isBlank()) {
        texts.add(new Text(scalar.text(), scalar.line(), item.path()));
      } else {
        problems.add(
            item.node().line(),
            item.path(),
            "must be a single value, but it is " + item.node().kind());
      }
    }
    return texts;
  }

  /** One text of a list. */
  record Text(String text, int line, String path) {}

  /** The items of a list of groups; other items are reported and left out. */
  List<Section> sections(String key) {
    List<Section> sections = new ArrayList<>();
    for (Item item : items(key)) {
      if (item.node() instanceof YamlNode.Mapping mapping) {
        sections.add(new Section(mapping, mapping.line(), item.path(), problems));
      } else {
        problems.add(
            item.node().line(),
            item.path(),
            "must be a group of keys, but it is " + item.node().kind());
      }
    }
    return sections;
  }

  /** Reports every key that was not asked for. */
  void finish() {
    for (String key : entries.keySet()) {
      if (!known.contains(key)) {
        problem(key, "is not a key here; known are " + String.join(", ", known));
      }
    }
  }
}
