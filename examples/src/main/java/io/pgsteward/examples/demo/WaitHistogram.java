package io.pgsteward.examples.demo;

import java.util.Arrays;
import java.util.StringJoiner;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * How long borrowers waited, in buckets that are at most an eighth wide. Thread-safe; its text form
 * travels from the applications to the demo.
 */
final class WaitHistogram {

  private static final int PER_OCTAVE = 8;
  private static final int BUCKETS = 30 * PER_OCTAVE;

  private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

  void record(long micros) {
    counts.incrementAndGet(bucket(micros));
  }

  /** Takes everything out, as text: {@code bucket:count}, separated by commas. */
  String drain() {
    StringJoiner text = new StringJoiner(",");
    for (int i = 0; i < BUCKETS; i++) {
      long count = counts.getAndSet(i, 0);
      if (count > 0) {
        text.add(i + ":" + count);
      }
    }
    return text.toString();
  }

  /** Adds what another one has drained. */
  void add(String drained) {
    if (drained.isEmpty()) {
      return;
    }
    for (String pair : drained.split(",")) {
      int colon = pair.indexOf(':');
      counts.addAndGet(
          Integer.parseInt(pair.substring(0, colon)), Long.parseLong(pair.substring(colon + 1)));
    }
  }

  /** Takes everything out and gives the 99th percentile in microseconds; -1 if it was empty. */
  long drainPercentile99() {
    long[] taken = new long[BUCKETS];
    Arrays.setAll(taken, i -> counts.getAndSet(i, 0));
    long sum = Arrays.stream(taken).sum();
    if (sum == 0) {
      return -1;
    }
    long rank = (sum * 99 + 99) / 100;
    long seen = 0;
    for (int i = 0; i < BUCKETS; i++) {
      seen += taken[i];
      if (seen >= rank) {
        return upperBound(i);
      }
    }
    throw new IllegalStateException("the counts do not add up");
  }

  private static int bucket(long micros) {
    long value = Math.max(1, micros);
    int octave = 63 - Long.numberOfLeadingZeros(value);
    int within = (int) (((value - (1L << octave)) * PER_OCTAVE) >> octave);
    return Math.min(BUCKETS - 1, octave * PER_OCTAVE + within);
  }

  private static long upperBound(int bucket) {
    int octave = bucket / PER_OCTAVE;
    return (1L << octave) + ((bucket % PER_OCTAVE + 1L) << octave) / PER_OCTAVE;
  }
}
