package io.pgsteward.server.http;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.server.config.Secret;
import io.pgsteward.server.config.TokenConfig;
import java.util.List;

/** One token for each kind of caller. */
final class TestTokens {

  private TestTokens() {}

  static TokenConfig of(String member, String tenant, String operator) {
    PolicyBook allowed = PolicyBook.builder().tenant(tenant, TenantPolicy.DEFAULT).build();
    return new TokenConfig(
        List.of(new TokenConfig.MemberToken(new Secret(member), allowed)),
        List.of(new Secret(operator)));
  }
}
