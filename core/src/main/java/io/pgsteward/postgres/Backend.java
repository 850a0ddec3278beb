package io.pgsteward.postgres;

import org.jspecify.annotations.Nullable;

/**
 * One client connection as {@code pg_stat_activity} shows it. Immutable.
 *
 * @param pid process id of the backend
 * @param role the login role; null while the login is in progress
 * @param database the database; null while the login is in progress
 * @param superuser whether the role is a superuser
 */
public record Backend(
    int pid, @Nullable String role, @Nullable String database, boolean superuser) {}
