package io.pgsteward.server.config;

/** Whether PostgreSQL's role limits protect the budget besides the ledger. */
public enum Enforcement {
  /** Use role limits if the rights are there, otherwise say that the ledger alone protects. */
  AUTO,
  /** Never touch role limits. */
  OFF
}
