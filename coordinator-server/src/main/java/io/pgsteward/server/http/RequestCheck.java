package io.pgsteward.server.http;

import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.TenantReport;
import java.util.HashSet;
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
    for (int i = 0; i < request.tenants().size(); i++) {
      TenantReport report = request.tenants().get(i);
      String field = "tenants[" + i + "]";
      if (!tenants.add(report.tenant())) {
        throw wrong(field + ".tenant", report.tenant() + " is reported twice");
      }
    }
  }

  private static Refusal wrong(String field, String message) {
    return new Refusal(400, "bad-request", field + ": " + message);
  }
}
