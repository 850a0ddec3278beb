package io.pgsteward.postgres;

/**
 * A role that can log in, as PostgreSQL shows it. Immutable.
 *
 * @param name its name
 * @param superuser PostgreSQL holds no superuser to a connection limit
 * @param limit connections that it may have, in all databases together; -1 without a limit
 * @param alterable whether the coordinator may change that limit
 */
public record LoginRole(String name, boolean superuser, int limit, boolean alterable) {}
