package io.pgsteward.server.http;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.TenantReport;
import io.pgsteward.server.config.TokenConfig;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Who may ask for what. Immutable. */
final class Access {

  /** One token of applications. */
  private record Holder(Bearer bearer, MemberAccess access) {}

  private final List<Holder> members = new ArrayList<>();
  private final List<Bearer> operators = new ArrayList<>();

  Access(TokenConfig tokens) {
    for (TokenConfig.MemberToken token : tokens.members()) {
      members.add(new Holder(Bearer.of(token.token()), new MemberAccess(token.allowed())));
    }
    tokens.operators().forEach(token -> operators.add(Bearer.of(token)));
  }

  /**
   * What the bearer of a token may report.
   *
   * @param header the {@code Authorization} header, or null
   * @throws Refusal with status 401 if a token is needed and this is none
   */
  MemberAccess member(@Nullable String header) {
    if (members.isEmpty()) {
      return MemberAccess.EVERYTHING;
    }
    Bearer presented = Bearer.from(header);
    MemberAccess access = null;
    for (Holder holder : members) {
      // No early end: the time must not tell how far down the list a token stands.
      if (presented != null && holder.bearer.matches(presented)) {
        access = holder.access;
      }
    }
    if (access == null) {
      throw unauthorized(presented, "member");
    }
    return access;
  }

  /**
   * Lets operators pass.
   *
   * @throws Refusal with status 401 if a token is needed and this is none
   */
  void operator(@Nullable String header) {
    if (operators.isEmpty()) {
      return;
    }
    Bearer presented = Bearer.from(header);
    boolean known = false;
    for (Bearer operator : operators) {
      known |= presented != null && operator.matches(presented);
    }
    if (!known) {
      throw unauthorized(presented, "operator");
    }
  }

  private static Refusal unauthorized(@Nullable Bearer presented, String who) {
    return new Refusal(
        401,
        "unauthorized",
        presented == null
            ? "a bearer token is needed: tokens." + who + "s of the coordinator's configuration"
            : "the bearer token is not among tokens."
                + who
                + "s of the coordinator's configuration");
  }

  /** What the bearer of one token may report. Immutable. */
  static final class MemberAccess {

    static final MemberAccess EVERYTHING = new MemberAccess(null);

    private final @Nullable PolicyBook allowed;

    /**
     * @param allowed has a policy for each tenant that may be reported; null allows every tenant
     */
    MemberAccess(@Nullable PolicyBook allowed) {
      this.allowed = allowed;
    }

    /**
     * Lets a request pass.
     *
     * @throws Refusal with status 403 naming the first tenant that the token is not for
     */
    void check(SyncRequest request) {
      if (allowed == null) {
        return;
      }
      for (TenantReport report : request.tenants()) {
        if (!allows(allowed, report.tenant())) {
          throw new Refusal(
              403,
              "tenant-not-allowed",
              "the bearer token is not for tenant "
                  + report.tenant()
                  + "; tokens.members of the coordinator's configuration says which it is for");
        }
      }
    }

    private static boolean allows(PolicyBook allowed, String tenant) {
      try {
        return allowed.policyOf(TenantId.parse(tenant)) != null;
      } catch (IllegalArgumentException e) {
        throw new Refusal(400, "bad-request", String.valueOf(e.getMessage()));
      }
    }
  }
}
