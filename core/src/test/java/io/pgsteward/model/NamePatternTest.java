package io.pgsteward.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.Seeds;
import io.pgsteward.testing.TestPostgres;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@Tag("postgres")
@ExtendWith(Seeds.class)
class NamePatternTest {

  private static final int PAIRS = 20_000;

  /** Few letters, so that they meet often, and everything that a regular expression knows. */
  private static final String[] CHARACTERS = {
    "a",
    "a",
    "a",
    "b",
    "b",
    "d",
    "w",
    "1",
    "_",
    "-",
    ".",
    "*",
    "*",
    "+",
    "?",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "|",
    "^",
    "$",
    "\\",
    "/",
    "@",
    "%",
    "'",
    "\"",
    " ",
    "\n",
    "\t",
    "\u00e9",
    "\u00c9",
    "\u0301",
    "\u00a0",
    "\u2028",
    "\u4e2d",
    "\u00b2",
    "\u2167",
    "\ud83d\ude00",
    "\ud835\udfd8"
  };

  @Test
  void the_regular_expression_means_the_same_to_PostgreSQL(Random random) throws SQLException {
    List<String> patterns = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (int i = 0; i < PAIRS; i++) {
      List<String> pieces = new ArrayList<>();
      for (int piece = random.nextInt(4); piece >= 0; piece--) {
        pieces.add(text(random, 3));
      }
      String pattern = String.join("*", pieces.stream().map(NamePatternTest::encoded).toList());
      patterns.add(pattern.isEmpty() ? "*" : pattern);
      // Every second name is made from the pattern, so that it may match.
      names.add(random.nextBoolean() ? text(random, 6) : joined(random, pieces));
    }
    String[] expressions =
        patterns.stream().map(text -> NamePattern.parse(text).regex()).toArray(String[]::new);
    int matches = 0;
    try (Connection connection = TestPostgres.shared().connect();
        PreparedStatement statement =
            connection.prepareStatement(
                "SELECT n ~ p FROM unnest(?, ?) WITH ORDINALITY AS t (n, p, i) ORDER BY i")) {
      statement.setArray(1, connection.createArrayOf("text", names.toArray()));
      statement.setArray(2, connection.createArrayOf("text", expressions));
      try (ResultSet rows = statement.executeQuery()) {
        for (int i = 0; i < PAIRS; i++) {
          rows.next();
          boolean ours = NamePattern.parse(patterns.get(i)).matches(names.get(i));
          matches += ours ? 1 : 0;
          assertThat(rows.getBoolean(1))
              .as("\"%s\" of pattern %s, %s", names.get(i), patterns.get(i), expressions[i])
              .isEqualTo(ours);
        }
      }
    }
    assertThat(matches).as("matching pairs").isBetween(PAIRS / 10, PAIRS * 9 / 10);
  }

  private static String text(Random random, int most) {
    StringBuilder text = new StringBuilder();
    for (int length = random.nextInt(most + 1); length > 0; length--) {
      text.append(CHARACTERS[random.nextInt(CHARACTERS.length)]);
    }
    return text.toString();
  }

  private static String joined(Random random, List<String> pieces) {
    StringBuilder name = new StringBuilder(pieces.get(0));
    for (String piece : pieces.subList(1, pieces.size())) {
      name.append(text(random, 2)).append(piece);
    }
    return name.toString();
  }

  private static String encoded(String piece) {
    if (piece.isEmpty()) {
      return "";
    }
    String tenant = TenantId.of(piece, "x").toString();
    return tenant.substring(0, tenant.indexOf('@'));
  }
}
