package io.pgsteward.examples.demo;

/**
 * What one application process says of itself a few times a second: one line of text.
 *
 * @param committed transactions since its start
 * @param failed transactions and borrows that failed since its start
 * @param demand connections it could use
 * @param limit connections it may hold
 * @param held connections it holds
 * @param opening those of them that are being opened
 * @param closing those of them that are being closed
 * @param waiting threads that wait for one
 * @param waits how long borrowers waited since the last line; see {@link WaitHistogram}
 */
record Usage(
    long committed,
    long failed,
    int demand,
    int limit,
    int held,
    int opening,
    int closing,
    int waiting,
    String waits) {

  static final Usage NONE = new Usage(0, 0, 0, 0, 0, 0, 0, 0, "");

  private static final String PREFIX = "usage ";

  String line() {
    return PREFIX
        + String.join(
            " ",
            Long.toString(committed),
            Long.toString(failed),
            Integer.toString(demand),
            Integer.toString(limit),
            Integer.toString(held),
            Integer.toString(opening),
            Integer.toString(closing),
            Integer.toString(waiting),
            "[" + waits + "]");
  }

  static boolean isUsage(String line) {
    return line.startsWith(PREFIX);
  }

  static Usage read(String line) {
    String[] words = line.substring(PREFIX.length()).split(" ");
    String waits = words[8].substring(1, words[8].length() - 1);
    return new Usage(
        Long.parseLong(words[0]),
        Long.parseLong(words[1]),
        Integer.parseInt(words[2]),
        Integer.parseInt(words[3]),
        Integer.parseInt(words[4]),
        Integer.parseInt(words[5]),
        Integer.parseInt(words[6]),
        Integer.parseInt(words[7]),
        waits);
  }
}
