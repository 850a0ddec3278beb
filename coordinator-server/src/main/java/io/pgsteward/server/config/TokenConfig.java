package io.pgsteward.server.config;

import java.util.List;

/**
 * The bearer tokens that are accepted. Immutable.
 *
 * @param members tokens of applications; empty: no token is asked of them
 * @param operators tokens of operators; empty: no token is asked of them
 */
public record TokenConfig(List<MemberToken> members, List<Secret> operators) {

  /** Nobody is asked for a token; only allowed on a loopback address. */
  public static final TokenConfig NONE = new TokenConfig(List.of(), List.of());

  public TokenConfig {
    members = List.copyOf(members);
    operators = List.copyOf(operators);
  }

  /**
   * One token of applications.
   *
   * @param tenants the only tenants it may report, as names or patterns; empty allows every tenant
   */
  public record MemberToken(Secret token, List<String> tenants) {

    public MemberToken {
      tenants = List.copyOf(tenants);
    }
  }
}
