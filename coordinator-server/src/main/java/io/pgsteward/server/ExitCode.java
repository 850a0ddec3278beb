package io.pgsteward.server;

import java.util.LinkedHashMap;
import java.util.Map;

/** What the process says to its caller when it ends. */
enum ExitCode {
  OK(0, "done, or stopped as asked"),
  FAILED(1, "failed at run time, or check found something"),
  WRONG_CONFIG(2, "wrong command line or configuration"),
  ANOTHER_LEADS(3, "another coordinator leads on an instance; serve: with another configuration"),
  WOULD_CHANGE(4, "limits differ from what they should be: plan names them");

  private final int code;
  private final String meaning;

  ExitCode(int code, String meaning) {
    this.code = code;
    this.meaning = meaning;
  }

  int code() {
    return code;
  }

  String meaning() {
    return meaning;
  }

  /** Of several instances: a failure first, then another leader, then a change, then all well. */
  ExitCode and(ExitCode other) {
    return this == OK || (other != OK && other.compareTo(this) < 0) ? other : this;
  }

  /** The table of {@code --help}. */
  static Map<String, String> table() {
    Map<String, String> table = new LinkedHashMap<>();
    for (ExitCode one : values()) {
      table.put(Integer.toString(one.code), one.meaning);
    }
    return table;
  }
}
