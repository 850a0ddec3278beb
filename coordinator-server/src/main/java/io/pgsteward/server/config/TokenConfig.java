package io.pgsteward.server.config;

import io.pgsteward.model.PolicyBook;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
   * @param allowed has a policy for each tenant that it may report; null allows every tenant
   */
  public record MemberToken(Secret token, @Nullable PolicyBook allowed) {}
}
