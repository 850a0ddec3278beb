package io.pgsteward.model;

import java.util.ArrayList;
import java.util.List;

/**
 * A name in which {@code *} stands for any characters, also none. The characters {@code @ / * %}
 * themselves are percent-encoded, as in {@link TenantId}. Immutable.
 */
final class NamePattern {

  /** What stands between the stars; one piece alone is the whole name. */
  private final List<String> pieces;

  private NamePattern(List<String> pieces) {
    this.pieces = pieces;
  }

  /**
   * @throws IllegalArgumentException if the text is empty or wrongly encoded
   */
  static NamePattern parse(String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException("a name is never empty");
    }
    List<String> pieces = new ArrayList<>();
    int start = 0;
    for (int star = text.indexOf('*'); star >= 0; star = text.indexOf('*', start)) {
      pieces.add(TenantId.decode(text.substring(start, star)));
      start = star + 1;
    }
    pieces.add(TenantId.decode(text.substring(start)));
    return new NamePattern(List.copyOf(pieces));
  }

  /** Whether it has no star and so matches one name alone. */
  boolean isExact() {
    return pieces.size() == 1;
  }

  /** The name that an exact pattern matches. */
  String name() {
    return pieces.get(0);
  }

  /** The same pattern as a regular expression of PostgreSQL. */
  String regex() {
    StringBuilder regex = new StringBuilder("^");
    for (int i = 0; i < pieces.size(); i++) {
      regex.append(i == 0 ? "" : ".*");
      pieces
          .get(i)
          .codePoints()
          .forEach(
              c -> {
                if (!Character.isLetterOrDigit(c)) {
                  regex.append('\\');
                }
                regex.appendCodePoint(c);
              });
    }
    return regex.append('$').toString();
  }

  /** How many characters are given. */
  int given() {
    return pieces.stream().mapToInt(String::length).sum();
  }

  boolean matches(String name) {
    if (isExact()) {
      return name.equals(name());
    }
    String last = pieces.get(pieces.size() - 1);
    int end = name.length() - last.length();
    int at = pieces.get(0).length();
    if (at > end || !name.startsWith(pieces.get(0)) || !name.endsWith(last)) {
      return false;
    }
    // The leftmost place of each piece leaves the most for the pieces after it.
    for (String piece : pieces.subList(1, pieces.size() - 1)) {
      int found = name.indexOf(piece, at);
      if (found < 0 || found + piece.length() > end) {
        return false;
      }
      at = found + piece.length();
    }
    return true;
  }
}
