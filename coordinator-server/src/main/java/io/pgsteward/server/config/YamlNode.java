package io.pgsteward.server.config;

import java.util.List;

/** A part of a YAML document with the line (from 1) on which it begins. Immutable. */
sealed interface YamlNode {

  int line();

  /**
   * What the author wrote, in words for an error message. Never quotes a value: it may be secret.
   */
  String kind();

  /** A single value; its text as written, whatever type YAML would give it. */
  record Scalar(int line, String text) implements YamlNode {
    @Override
    public String kind() {
      return "a single value";
    }

    @Override
    public String toString() {
      return "a value on line " + line;
    }
  }

  /** A key without a value, {@code ~} or {@code null}. */
  record Empty(int line) implements YamlNode {
    @Override
    public String kind() {
      return "nothing";
    }
  }

  /** A list. */
  record Sequence(int line, List<YamlNode> items) implements YamlNode {
    @Override
    public String kind() {
      return "a list";
    }
  }

  /** Keys with values, in the order of the file; no key twice. */
  record Mapping(int line, List<Entry> entries) implements YamlNode {
    @Override
    public String kind() {
      return "a group of keys";
    }
  }

  /** One key of a mapping. */
  record Entry(String key, int line, YamlNode value) {}
}
