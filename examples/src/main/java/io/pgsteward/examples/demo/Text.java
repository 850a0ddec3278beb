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
      boolean first = column == indent.length();
      if (!first && column + 1 + word.length() > WIDTH) {
        lines.append('\n').append(indent).append(word);
        column = indent.length() + word.length();
      } else {
        lines.append(first ? "" : " ").append(word);
        column += word.length() + (first ? 0 : 1);
      }
    }
    return lines.toString();
  }
}
