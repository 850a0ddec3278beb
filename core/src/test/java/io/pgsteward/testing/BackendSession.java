package io.pgsteward.testing;

/**
 * One backend that served a client, as the server's log tells it.
 *
 * @param start position of the line that begins it, in the order of the log
 * @param startMillis wall-clock time of that line
 * @param end position of the line that ends it; {@link Long#MAX_VALUE} while it lasts
 * @param endMillis wall-clock time of that line; {@link Long#MAX_VALUE} while it lasts
 */
public record BackendSession(
    int pid,
    String role,
    String database,
    String application,
    long start,
    long startMillis,
    long end,
    long endMillis) {}
