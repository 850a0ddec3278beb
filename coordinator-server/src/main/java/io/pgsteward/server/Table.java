package io.pgsteward.server;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Rows under a heading, as aligned text or as values for JSON. Not thread-safe. */
final class Table {

  private final List<String> columns;
  private final List<List<@Nullable Object>> rows = new ArrayList<>();

  /**
   * @param columns names as they are in JSON; text shows them in capitals
   */
  Table(String... columns) {
    this.columns = List.of(columns);
  }

  /** Adds a row with a value for each column: a text, a number, or null for nothing. */
  void row(@Nullable Object... values) {
    if (values.length != columns.size()) {
      throw new IllegalArgumentException(values.length + " values for " + columns);
    }
    List<@Nullable Object> row = new ArrayList<>();
    for (@Nullable Object value : values) {
      row.add(value);
    }
    rows.add(row);
  }

  /** The rows as maps from column to value; without an entry for nothing. */
  List<Map<String, Object>> values() {
    List<Map<String, Object>> values = new ArrayList<>();
    for (List<@Nullable Object> row : rows) {
      Map<String, Object> one = new LinkedHashMap<>();
      for (int i = 0; i < columns.size(); i++) {
        Object value = row.get(i);
        if (value != null) {
          one.put(columns.get(i), value);
        }
      }
      values.add(one);
    }
    return values;
  }

  /** Prints aligned columns, numbers to the right. */
  void print(PrintWriter out) {
    int[] widths = new int[columns.size()];
    for (int i = 0; i < widths.length; i++) {
      widths[i] = heading(i).length();
      for (List<@Nullable Object> row : rows) {
        widths[i] = Math.max(widths[i], text(row.get(i)).length());
      }
    }
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < widths.length; i++) {
      cell(line, heading(i), widths[i], isNumeric(i));
    }
    out.println(line.toString().stripTrailing());
    for (List<@Nullable Object> row : rows) {
      line.setLength(0);
      for (int i = 0; i < widths.length; i++) {
        cell(line, text(row.get(i)), widths[i], isNumeric(i));
      }
      out.println(line.toString().stripTrailing());
    }
  }

  private String heading(int column) {
    return columns.get(column).replaceAll("([A-Z])", " $1").toUpperCase(java.util.Locale.ROOT);
  }

  private boolean isNumeric(int column) {
    return rows.stream().anyMatch(row -> row.get(column) instanceof Number);
  }

  private static void cell(StringBuilder line, String text, int width, boolean right) {
    String space = " ".repeat(width - text.length());
    line.append(right ? space + text : text + space).append("  ");
  }

  private static String text(@Nullable Object value) {
    return value == null ? "-" : printable(value.toString());
  }

  /** Names come from elsewhere: what a terminal would obey is shown as a question mark. */
  static String printable(String text) {
    return text.replaceAll("\\p{Cntrl}", "?");
  }
}
