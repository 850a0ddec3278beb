package io.pgsteward.enforcement;

/** Whether PostgreSQL's role limits protect the budget besides the ledger. */
public enum EnforceMode {
  /** Grant nothing without role limits. */
  REQUIRED,
  /** Use role limits if the rights are there, otherwise say that the ledger alone protects. */
  AUTO,
  /** Never look at role limits or touch them. */
  OFF
}
