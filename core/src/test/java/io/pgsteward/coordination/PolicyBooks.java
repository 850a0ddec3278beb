package io.pgsteward.coordination;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;

/** The configurations that the tests of this package use; the coordinator's role is "pgsteward". */
final class PolicyBooks {

  private PolicyBooks() {}

  /** Everybody is welcome, nobody is promised anything. */
  static PolicyBook withDefault() {
    return PolicyBook.builder().defaultPolicy(TenantPolicy.DEFAULT).ownRole("pgsteward").build();
  }

  /** Only this tenant. */
  static PolicyBook named(String tenant) {
    return PolicyBook.builder().tenant(tenant, TenantPolicy.DEFAULT).ownRole("pgsteward").build();
  }

  /** web@shop is guaranteed 30 and worker@shop 10; no others. */
  static PolicyBook webAndWorker() {
    return PolicyBook.builder()
        .tenant("web@shop", new TenantPolicy(30, TenantPolicy.NO_MAX, 1))
        .tenant("worker@shop", new TenantPolicy(10, TenantPolicy.NO_MAX, 1))
        .ownRole("pgsteward")
        .build();
  }
}
