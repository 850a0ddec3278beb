package io.pgsteward.allocation;

import io.pgsteward.model.MemberId;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import java.util.ArrayList;
import java.util.List;

/**
 * Claims written as in the design: {@code "web(g30 d60) worker(g10 d90)"}, with g guarantee, m max,
 * w weight, d demand, c current (kept as well when k is left out); members as {@code p1(5,3)} with
 * demand and current.
 */
final class ClaimText {

  private ClaimText() {}

  static List<Claim> claims(String text) {
    List<Claim> claims = new ArrayList<>();
    for (String part : text.split("\\s+(?![^(]*\\))")) {
      int bracket = part.indexOf('(');
      int guarantee = 0;
      int max = TenantPolicy.NO_MAX;
      int weight = 1;
      int demand = 0;
      int current = 0;
      int kept = -1;
      for (String figure : part.substring(bracket + 1, part.length() - 1).split(" ")) {
        int value = Integer.parseInt(figure.substring(1));
        switch (figure.charAt(0)) {
          case 'g' -> guarantee = value;
          case 'm' -> max = value;
          case 'w' -> weight = value;
          case 'd' -> demand = value;
          case 'c' -> current = value;
          case 'k' -> kept = value;
          default -> throw new IllegalArgumentException(figure);
        }
      }
      claims.add(
          new Claim(
              tenant(part.substring(0, bracket)),
              new TenantPolicy(guarantee, max, weight),
              demand,
              current,
              kept < 0 ? current : kept,
              0,
              current == 0 ? Long.MAX_VALUE : 0));
    }
    return claims;
  }

  static TenantId tenant(String name) {
    return TenantId.of(name, "shop");
  }

  static List<MemberSplit.MemberClaim> members(String text) {
    List<MemberSplit.MemberClaim> members = new ArrayList<>();
    for (String part : text.split(" ")) {
      int bracket = part.indexOf('(');
      String[] figures = part.substring(bracket + 1, part.length() - 1).split(",");
      int current = Integer.parseInt(figures[1]);
      members.add(
          new MemberSplit.MemberClaim(
              member(part.substring(0, bracket)),
              Integer.parseInt(figures[0]),
              current,
              current,
              0,
              current == 0 ? Long.MAX_VALUE : 0));
    }
    return members;
  }

  static MemberId member(String name) {
    return new MemberId("member-" + name);
  }
}
