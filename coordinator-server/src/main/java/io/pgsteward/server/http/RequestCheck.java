package io.pgsteward.server.http;

import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.TenantReport;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What a request must be beyond the types of its fields. Stateless. */
final class RequestCheck {

  private RequestCheck() {}

  /**
   * Lets a request pass.
   *
   * @throws Refusal with status 400 naming the first field that is wrong
   */
  static void check(SyncRequest request) {
    Set<String> tenants = new HashSet<>();
    Set<Integer> pids = new HashSet<>();
    for (int i = 0; i < request.tenants().size(); i++) {
      TenantReport report = request.tenants().get(i);
      String field = "tenants[" + i + "]";
      if (!tenants.add(report.tenant())) {
        throw wrong(field + ".tenant", report.tenant() + " is reported twice");
      }
      check(report.pids(), field + ".pids", pids);
    }
  }

  private static void check(List<Integer> pids, String field, Set<Integer> before) {
    for (int i = 0; i < pids.size(); i++) {
      int pid = pids.get(i);
      if (pid <= 0) {
        throw wrong(field + "[" + i + "]", "a process id is above 0, but it is " + pid);
      }
      if (!before.add(pid)) {
        throw wrong(field + "[" + i + "]", "process id " + pid + " is reported twice");
      }
    }
  }

  private static Refusal wrong(String field, String message) {
    return new Refusal(400, "bad-request", field + ": " + message);
  }
}
