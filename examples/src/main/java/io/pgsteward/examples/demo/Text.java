package io.pgsteward.examples.demo;

/** Text for a terminal. */
final class Text {

  private static final int WIDTH = 100;

  private Text() {}

  /** Breaks a text into lines that begin with the indent. */
  static String wrapped(String indent, String text) {
    StringBuilder lines = new StringBuilder(indent);
    int column = indent.length();
    for (String word : text.split(" ")) {
      if (column + word.length() > WIDTH) {
        lines.append('\n').append(indent);
        column = indent.length();
      }
      lines.append(word).append(' ');
      column += word.length() + 1;
    }
    return lines.toString().stripTrailing();
  }
}
