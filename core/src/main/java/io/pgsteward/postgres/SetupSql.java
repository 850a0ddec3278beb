package io.pgsteward.postgres;

import io.pgsteward.model.ManagedRoles;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The SQL that an administrator runs once so that a coordinator may set connection limits, and the
 * SQL that takes it back. Nothing here is sent by the coordinator itself.
 *
 * <p>Everything lives in the schema {@code pgsteward} of the lock database. The functions are
 * SECURITY DEFINER with a fixed search_path and take names and integers alone; which roles they
 * change is decided by a table that only its owner can write. Run again after a change of the
 * configuration's managed or foreign roles, the script replaces that table's rows and keeps what
 * was adopted.
 */
public final class SetupSql {

  private static final int RESERVED_SINCE = 16;
  private static final int ADMIN_SINCE = 16;

  /** The script's own names mean what they say, whatever the session has set. */
  private static final String BEGIN =
      """
      BEGIN;
      SET LOCAL standard_conforming_strings = on;
      SET LOCAL search_path = pg_catalog, pg_temp;

      """;

  private static final String TABLES =
      """
      CREATE SCHEMA IF NOT EXISTS pgsteward;
      DO $pgsteward$
      DECLARE
        owner record;
      BEGIN
        SELECT r.rolname, r.rolsuper OR r.rolname = current_user AS trusted INTO owner
          FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
         WHERE n.nspname = 'pgsteward';
        IF NOT owner.trusted THEN
          RAISE EXCEPTION 'schema pgsteward belongs to %, who could change what is put there',
            owner.rolname USING HINT = 'Look at what it is, then drop it.';
        END IF;
      END
      $pgsteward$;
      REVOKE ALL ON SCHEMA pgsteward FROM PUBLIC;

      -- Connection limits from before the first change; "release" puts them back.
      CREATE TABLE IF NOT EXISTS pgsteward.adopted (
        role name PRIMARY KEY,
        old_limit integer NOT NULL,
        since timestamptz NOT NULL DEFAULT pg_catalog.now()
      );
      """;

  private static final String FUNCTIONS =
      """
      -- Which roles are managed, as the coordinator's configuration says.
      CREATE TABLE IF NOT EXISTS pgsteward.managed (
        kind text NOT NULL CHECK (kind IN ('named', 'pattern', 'foreign', 'own')),
        value text NOT NULL
      );
      DELETE FROM pgsteward.managed;
      %s
      CREATE OR REPLACE FUNCTION pgsteward.managed_roles() RETURNS SETOF name
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
      $pgsteward$
        SELECT r.rolname
          FROM pg_catalog.pg_roles r
         WHERE r.rolcanlogin AND NOT r.rolsuper AND NOT r.rolreplication
           AND NOT EXISTS (SELECT FROM pgsteward.managed m
                            WHERE m.kind = 'foreign' AND r.rolname::text ~ m.value)
           AND (EXISTS (SELECT FROM pgsteward.managed m
                         WHERE m.kind = 'named' AND r.rolname::text = m.value)
                OR (EXISTS (SELECT FROM pgsteward.managed m
                             WHERE m.kind = 'pattern' AND r.rolname::text ~ m.value)
                    AND NOT EXISTS (SELECT FROM pgsteward.managed m
                                     WHERE m.kind = 'own' AND r.rolname::text = m.value)))
      $pgsteward$;

      -- Sets limits in that order, in the caller's transaction, and remembers the old ones.
      CREATE OR REPLACE FUNCTION pgsteward.set_connection_limits(
          role_names name[], new_limits integer[]) RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
      $pgsteward$
      DECLARE
        managed name[] := ARRAY(SELECT pgsteward.managed_roles());
      BEGIN
        IF cardinality(role_names) IS DISTINCT FROM cardinality(new_limits) THEN
          RAISE EXCEPTION 'as many limits as roles are needed' USING ERRCODE = '22023';
        END IF;
        PERFORM pg_advisory_xact_lock(%d);
        FOR i IN 1 .. cardinality(role_names) LOOP
          IF NOT coalesce(role_names[i] = ANY (managed), false) THEN
            RAISE EXCEPTION 'role %% is not managed', role_names[i] USING ERRCODE = '42501';
          END IF;
          IF new_limits[i] IS NULL OR new_limits[i] NOT BETWEEN 0 AND 262143 THEN
            RAISE EXCEPTION 'not a connection limit: %%', new_limits[i] USING ERRCODE = '22023';
          END IF;
          INSERT INTO pgsteward.adopted (role, old_limit)
            SELECT r.rolname, r.rolconnlimit FROM pg_roles r WHERE r.rolname = role_names[i]
            ON CONFLICT DO NOTHING;
          EXECUTE format('ALTER ROLE %%I CONNECTION LIMIT %%s', role_names[i], new_limits[i]);
        END LOOP;
      END
      $pgsteward$;

      -- Puts the remembered limits of these roles back and forgets them.
      CREATE OR REPLACE FUNCTION pgsteward.release_connection_limits(role_names name[]) RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
      $pgsteward$
      DECLARE
        one record;
      BEGIN
        PERFORM pg_advisory_xact_lock(%d);
        FOR one IN SELECT a.role, a.old_limit FROM pgsteward.adopted a
                     JOIN pg_roles r ON r.rolname = a.role
                    WHERE a.role = ANY (role_names) LOOP
          EXECUTE format('ALTER ROLE %%I CONNECTION LIMIT %%s', one.role, one.old_limit);
        END LOOP;
        DELETE FROM pgsteward.adopted a WHERE a.role = ANY (role_names);
      END
      $pgsteward$;

      REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pgsteward FROM PUBLIC;
      """;

  private SetupSql() {}

  /**
   * Lets the coordinator set limits of managed roles by functions; it needs no CREATEROLE.
   *
   * @param version the server's major version
   * @param coordinator the coordinator's role, which exists
   */
  public static String byFunction(int version, String coordinator, ManagedRoles roles) {
    String to = " TO " + RoleStatement.quoted(coordinator) + ";\n";
    return heading(coordinator)
        + BEGIN
        + TABLES
        + "\n"
        + FUNCTIONS.formatted(rows(roles), Statements.LIMITS_KEY, Statements.LIMITS_KEY)
        + "GRANT USAGE ON SCHEMA pgsteward"
        + to
        + "REVOKE ALL ON pgsteward.adopted FROM "
        + RoleStatement.quoted(coordinator)
        + ";\nGRANT SELECT ON pgsteward.adopted"
        + to
        + "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgsteward"
        + to
        + monitoring(version, to)
        + "COMMIT;\n";
  }

  /**
   * Lets the coordinator alter the roles themselves, for servers on which no function of a
   * superuser is wanted.
   *
   * @param managed the managed roles that exist now
   */
  public static String byCreateRole(int version, String coordinator, List<String> managed) {
    String role = RoleStatement.quoted(coordinator);
    String to = " TO " + role + ";\n";
    StringBuilder sql = new StringBuilder(heading(coordinator));
    if (version < ADMIN_SINCE) {
      sql.append(
          "-- CREATEROLE lets this role set the password of every role that is no superuser.\n");
    } else {
      sql.append(
          "-- ADMIN lets this role grant itself, and so become, each role below. Roles that\n");
      sql.append("-- are created later need the same GRANT.\n");
    }
    sql.append(BEGIN).append(TABLES).append('\n');
    sql.append("GRANT USAGE ON SCHEMA pgsteward").append(to);
    sql.append("GRANT SELECT, INSERT, DELETE ON pgsteward.adopted").append(to);
    sql.append("ALTER ROLE ").append(role).append(" CREATEROLE;\n");
    if (version >= ADMIN_SINCE) {
      for (String one : managed) {
        sql.append("GRANT ").append(RoleStatement.quoted(one)).append(" TO ").append(role);
        sql.append(" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE;\n");
      }
    }
    return sql.append(monitoring(version, to)).append("COMMIT;\n").toString();
  }

  /**
   * Takes everything back. Old limits are not put back by it: that is what {@code release} is for.
   *
   * @param managed the managed roles that exist now
   */
  public static String undo(int version, String coordinator, List<String> managed) {
    String role = RoleStatement.quoted(coordinator);
    StringBuilder sql = new StringBuilder();
    sql.append(
        "-- Run \"pgsteward-coordinator release\" first: it puts the old limits back, which\n");
    sql.append(
        "-- are forgotten with the schema. CREATEROLE and pg_monitor go whoever gave them.\nBEGIN;\nDROP SCHEMA IF EXISTS pgsteward CASCADE;\n");
    sql.append("ALTER ROLE ").append(role).append(" NOCREATEROLE;\n");
    if (version >= ADMIN_SINCE) {
      for (String one : managed) {
        sql.append("REVOKE ").append(RoleStatement.quoted(one)).append(" FROM ").append(role);
        sql.append(";\n");
      }
      sql.append("REVOKE pg_use_reserved_connections FROM ").append(role).append(";\n");
    }
    return sql.append("REVOKE pg_monitor FROM ").append(role).append(";\nCOMMIT;\n").toString();
  }

  private static String heading(String coordinator) {
    return "-- Lets "
        + RoleStatement.quoted(coordinator).replaceAll("[\\r\\n]", " ")
        + " set connection limits of managed roles. Run as a superuser in the database of\n"
        + "-- the coordinator's url, and again after its managed or foreign roles have changed.\n";
  }

  private static String monitoring(int version, String to) {
    return "GRANT pg_monitor"
        + to
        + (version >= RESERVED_SINCE
            ? "-- A full server keeps a place for the coordinator if reserved_connections is set.\n"
                + "GRANT pg_use_reserved_connections"
                + to
            : "");
  }

  private static String rows(ManagedRoles roles) {
    List<String> rows = new ArrayList<>();
    roles.named().forEach(name -> rows.add(row("named", name)));
    roles.patterns().forEach(pattern -> rows.add(row("pattern", pattern)));
    roles.foreign().forEach(pattern -> rows.add(row("foreign", pattern)));
    @Nullable String own = roles.own();
    if (own != null) {
      rows.add(row("own", own));
    }
    return rows.isEmpty()
        ? ""
        : "INSERT INTO pgsteward.managed (kind, value) VALUES\n  "
            + String.join(",\n  ", rows)
            + ";\n";
  }

  private static String row(String kind, String value) {
    return "('" + kind + "', '" + value.replace("'", "''") + "')";
  }
}
