package io.pgsteward.protocol;

import java.util.List;

/** Lists of messages: without null, which JSON can bring. Stateless. */
final class Elements {

  private Elements() {}

  /**
   * An immutable copy.
   *
   * @throws IllegalArgumentException naming the first element that is null
   */
  static <T> List<T> copyOf(String field, List<T> list) {
    int at = 0;
    for (Object element : list) {
      if (element == null) {
        throw new IllegalArgumentException(field + "[" + at + "] is null");
      }
      at++;
    }
    return List.copyOf(list);
  }
}
