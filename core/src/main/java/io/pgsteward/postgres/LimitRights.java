package io.pgsteward.postgres;

/** By which right a coordinator changes connection limits. */
public enum LimitRights {
  /** By the functions that {@code setup-sql} creates; the coordinator needs no further right. */
  FUNCTION,
  /** By {@code ALTER ROLE}, with CREATEROLE and, from PostgreSQL 16 on, ADMIN on each role. */
  CREATEROLE,
  /** By none: it may change no limit. */
  NONE
}
