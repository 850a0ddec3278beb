package io.pgsteward.postgres;

/**
 * Everything that a coordinator sends to PostgreSQL: reads, the leader's lock, and the settings of
 * its own session. All names are qualified, all values are parameters; nothing is put together from
 * text.
 */
final class Statements {

  /**
   * The key of the leader's lock, the same in every installation, so that two coordinators of one
   * database always meet: the ASCII codes of {@code pgstewrd}.
   */
  static final long LOCK_KEY = 0x7067_7374_6577_7264L;

  /**
   * Settings of the session: application_name, statement_timeout, lock_timeout and
   * idle_session_timeout, of which PostgreSQL 13 does not know the last.
   */
  static final String SETTINGS =
      """
      SELECT pg_catalog.set_config('application_name', ?, false),
             pg_catalog.set_config('statement_timeout', ?, false),
             pg_catalog.set_config('lock_timeout', ?, false),
             pg_catalog.set_config('search_path', 'pg_catalog', false),
             pg_catalog.set_config('synchronous_commit', 'local', false),
             (SELECT pg_catalog.set_config(s.name, ?, false)
                FROM pg_catalog.pg_settings s
               WHERE s.name OPERATOR(pg_catalog.=) 'idle_session_timeout'),
             pg_catalog.pg_is_in_recovery()
      """;

  /** Takes the lock if it is free; gives whether it did. */
  static final String TAKE_LOCK = "SELECT pg_catalog.pg_try_advisory_lock(?)";

  /**
   * Sessions other than this one that hold the lock in any database. A 64-bit key is shown as two
   * halves with objsubid 1.
   */
  static final String OTHER_HOLDERS =
      """
      SELECT l.pid, d.datname, d.datname = pg_catalog.current_database() AS here,
             a.usename, a.usename = session_user AS ours,
             coalesce(a.application_name, ''),
             coalesce(host(a.client_addr),
                      CASE WHEN a.client_port = -1 THEN 'local socket' ELSE 'not visible' END)
        FROM pg_catalog.pg_locks l
        LEFT JOIN pg_catalog.pg_database d ON d.oid = l.database
        JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
       WHERE l.locktype = 'advisory' AND l.granted
         AND l.classid::bigint = ? AND l.objid::bigint = ? AND l.objsubid = 1
         AND l.pid <> pg_catalog.pg_backend_pid()
       ORDER BY here DESC NULLS LAST, l.pid
       LIMIT 1
      """;

  /**
   * Ends the session that held the lock for this coordinator before, known by its pid, role and
   * application name. A connection that broke on the way lives on at the server otherwise.
   */
  static final String END_FORMER =
      """
      SELECT pg_catalog.pg_terminate_backend(a.pid)
        FROM pg_catalog.pg_locks l
        JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
       WHERE l.locktype = 'advisory' AND l.granted
         AND l.classid::bigint = ? AND l.objid::bigint = ? AND l.objsubid = 1
         AND a.pid = ? AND a.usename = session_user AND a.application_name = ?
      """;

  /** Starts a term: a transaction id grows for the life of the server, over all databases. */
  static final String EPOCH =
      "SELECT pg_catalog.pg_current_xact_id()::text::bigint, pg_catalog.pg_backend_pid()";

  /**
   * One look at the server in one round trip: its limits in each row, one row for each client
   * connection. Without pg_read_all_stats (part of pg_monitor) the kind of other roles' rows is
   * hidden; then every row with a role counts.
   */
  static final String OBSERVE =
      """
      SELECT current_setting('max_connections')::int,
             current_setting('superuser_reserved_connections')::int,
             coalesce(current_setting('reserved_connections', true), '0')::int,
             pg_backend_pid(),
             pg_has_role('pg_read_all_stats', 'USAGE'),
             a.pid, a.usename, a.datname, coalesce(r.rolsuper, false)
        FROM pg_catalog.pg_stat_activity a
        LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid
       WHERE a.backend_type = 'client backend'
          OR (a.backend_type IS NULL AND a.usesysid IS NOT NULL)
      """;

  /** The key under which changes of limits wait for each other: {@code pgstlimi}. */
  static final long LIMITS_KEY = 0x7067_7374_6c69_6d69L;

  /** Whether the schema that setup-sql makes is there and usable. */
  static final String SCHEMA_USABLE =
      """
      SELECT coalesce(
          has_schema_privilege(pg_catalog.to_regnamespace('pgsteward')::oid, 'USAGE'), false)
      """;

  /** Whether limits can be changed by the functions; whether by ALTER ROLE. */
  static final String RIGHTS =
      """
      SELECT coalesce(has_function_privilege(
               pg_catalog.to_regprocedure('pgsteward.set_connection_limits(name[],integer[])')::oid,
               'EXECUTE'), false),
             (r.rolcreaterole OR r.rolsuper) AND coalesce(has_table_privilege(
               pg_catalog.to_regclass('pgsteward.adopted')::oid, 'INSERT'), false)
        FROM pg_catalog.pg_roles r
       WHERE r.rolname = session_user
      """;

  /**
   * Every login role, when no limit can be changed; and whether it is time to look at the rights
   * again, as {@link #SCHEMA_USABLE}.
   */
  static final String ROLES =
      """
      SELECT r.rolname, r.rolsuper, r.rolconnlimit, false,
             (SELECT coalesce(has_schema_privilege(
                pg_catalog.to_regnamespace('pgsteward')::oid, 'USAGE'), false))
        FROM pg_catalog.pg_roles r
       WHERE r.rolcanlogin AND NOT r.rolreplication
       ORDER BY r.rolname
      """;

  /** Every login role; the function tells which ones it would change. */
  static final String ROLES_BY_FUNCTION =
      """
      SELECT r.rolname, r.rolsuper, r.rolconnlimit, m.role IS NOT NULL
        FROM pg_catalog.pg_roles r
        LEFT JOIN pgsteward.managed_roles() AS m (role) ON m.role = r.rolname
       WHERE r.rolcanlogin AND NOT r.rolreplication
       ORDER BY r.rolname
      """;

  /**
   * Every login role; before PostgreSQL 16 CREATEROLE alters every role but superusers and those
   * with REPLICATION, from then on those with ADMIN.
   */
  static final String ROLES_BY_CREATEROLE =
      """
      SELECT r.rolname, r.rolsuper, r.rolconnlimit,
             me.rolsuper OR (NOT r.rolsuper AND
               CASE WHEN current_setting('server_version_num')::int >= 160000
                    THEN pg_has_role(me.oid, r.oid, 'MEMBER WITH ADMIN OPTION')
                    ELSE NOT r.rolreplication END)
        FROM pg_catalog.pg_roles r
        JOIN pg_catalog.pg_roles me ON me.rolname = session_user
       WHERE r.rolcanlogin AND NOT r.rolreplication
       ORDER BY r.rolname
      """;

  /** Limits from before the first change. */
  static final String ADOPTED = "SELECT role, old_limit FROM pgsteward.adopted ORDER BY role";

  /** The same of roles that exist. */
  static final String ADOPTED_BY_PRESENT_ROLES =
      """
      SELECT a.role, a.old_limit
        FROM pgsteward.adopted a
        JOIN pg_catalog.pg_roles r ON r.rolname = a.role
       ORDER BY a.role
      """;

  /** Waits for any other change of limits of ours; ends with the transaction. */
  static final String LOCK_LIMITS = "SELECT pg_catalog.pg_advisory_xact_lock(?)";

  /** Sets limits in that order and remembers the old ones. */
  static final String SET_BY_FUNCTION = "SELECT pgsteward.set_connection_limits(?, ?)";

  /** Puts old limits back and forgets them. */
  static final String RELEASE_BY_FUNCTION = "SELECT pgsteward.release_connection_limits(?)";

  /** Remembers the limits that roles have before their first change. */
  static final String ADOPT =
      """
      INSERT INTO pgsteward.adopted (role, old_limit)
      SELECT r.rolname, r.rolconnlimit FROM pg_catalog.pg_roles r WHERE r.rolname = ANY (?)
          ON CONFLICT DO NOTHING
      """;

  /** Forgets them again. */
  static final String FORGET = "DELETE FROM pgsteward.adopted WHERE role = ANY (?)";

  private Statements() {}
}
