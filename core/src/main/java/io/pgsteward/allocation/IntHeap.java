package io.pgsteward.allocation;

/** A binary heap of ints under a given order, the first on top. Not thread-safe. */
final class IntHeap {

  /** A strict total order of the ints in the heap. */
  @FunctionalInterface
  interface Order {
    boolean isBefore(int a, int b);
  }

  private final int[] items;
  private final Order order;
  private int size;

  IntHeap(int capacity, Order order) {
    this.items = new int[capacity];
    this.order = order;
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** Adds without ordering; {@link #arrange} must follow before the next look. */
  void append(int item) {
    items[size++] = item;
  }

  /** Brings appended items into order, in linear time. */
  void arrange() {
    for (int i = (size >>> 1) - 1; i >= 0; i--) {
      sink(i);
    }
  }

  int first() {
    return items[0];
  }

  void removeFirst() {
    items[0] = items[--size];
    sink(0);
  }

  /** Restores the order after the first one moved back in it. */
  void firstMovedBack() {
    sink(0);
  }

  private void sink(int start) {
    int hole = start;
    int item = items[hole];
    while (true) {
      int child = 2 * hole + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && order.isBefore(items[child + 1], items[child])) {
        child++;
      }
      if (!order.isBefore(items[child], item)) {
        break;
      }
      items[hole] = items[child];
      hole = child;
    }
    items[hole] = item;
  }
}
