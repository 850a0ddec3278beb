package io.pgsteward.budget;

/**
 * The settings of a PostgreSQL server that limit connections. Immutable.
 *
 * @param maxConnections {@code max_connections}
 * @param superuserReserved {@code superuser_reserved_connections}
 * @param reserved {@code reserved_connections}; 0 before PostgreSQL 16, which does not have it
 */
public record ServerLimits(int maxConnections, int superuserReserved, int reserved) {

  public ServerLimits {
    if (maxConnections < 0 || superuserReserved < 0 || reserved < 0) {
      throw new IllegalArgumentException("no limit of a server is negative: " + maxConnections);
    }
  }
}
