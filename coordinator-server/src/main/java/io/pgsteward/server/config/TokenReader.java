package io.pgsteward.server.config;

import io.pgsteward.model.PolicyBook;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the bearer tokens. */
final class TokenReader {

  private final SecretReader secrets;

  TokenReader(SecretReader secrets) {
    this.secrets = secrets;
  }

  TokenConfig read(Section file) {
    Section tokens = file.section("tokens");
    if (tokens == null) {
      return TokenConfig.NONE;
    }
    List<TokenConfig.MemberToken> members = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    for (Section entry : tokens.sections("members")) {
      Secret token = token(entry, seen);
      PolicyBook allowed = PolicyReader.allowed(entry);
      entry.finish();
      if (token != null) {
        members.add(new TokenConfig.MemberToken(token, allowed));
      }
    }
    List<Secret> operators = new ArrayList<>();
    Set<String> seenOperators = new HashSet<>();
    for (Section entry : tokens.sections("operators")) {
      Secret token = token(entry, seenOperators);
      entry.finish();
      if (token != null) {
        operators.add(token);
      }
    }
    notEmpty(tokens, "members");
    notEmpty(tokens, "operators");
    tokens.finish();
    return new TokenConfig(members, operators);
  }

  private static void notEmpty(Section tokens, String key) {
    if (tokens.value(key) instanceof YamlNode.Sequence list && list.items().isEmpty()) {
      tokens.problem(key, "is an empty list; give a token or leave the key out");
    }
  }

  private @Nullable Secret token(Section entry, Set<String> seen) {
    if (!entry.has("token")) {
      entry.problem("token", "is missing");
      return null;
    }
    Secret token = secrets.read(entry, "token");
    if (token == null) {
      return null;
    }
    if (!token.reveal().chars().allMatch(c -> c > ' ' && c < 0x7f)) {
      entry.problem(
          "token", "may hold only visible ASCII characters, since it travels in a header");
    }
    if (!seen.add(token.reveal())) {
      entry.problem("token", "is the same as an earlier one in this list");
    }
    return token;
  }
}
