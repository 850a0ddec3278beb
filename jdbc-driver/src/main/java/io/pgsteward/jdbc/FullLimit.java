package io.pgsteward.jdbc;

/** Which limit kept a borrower from a connection. */
public enum FullLimit {
  /** The tenant's {@code max} in the coordinator's configuration. */
  TENANT_MAX,
  /**
   * What this process is granted, or its fallback slots; the rest is with others or not granted.
   */
  MEMBER_GRANT,
  /** What the whole system may open on the server. */
  BUDGET,
  /** PostgreSQL's {@code CONNECTION LIMIT} of the role. */
  ROLE_LIMIT,
  /** PostgreSQL's {@code CONNECTION LIMIT} of the database. */
  DATABASE_LIMIT,
  /** The server itself: {@code max_connections}, or the slots that it reserves. */
  SERVER,
  /** {@code maximumPoolSize} of this process. */
  PROCESS_CAP,
  /** {@code maxWaiters} of this process: the borrower was not allowed to wait. */
  WAITERS
}
