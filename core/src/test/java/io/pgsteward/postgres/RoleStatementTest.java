package io.pgsteward.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.pgsteward.postgres.RoleStatement.AlterLimit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RoleStatementTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "web|\"web\"",
        "a\"b; drop role x|\"a\"\"b; drop role x\"",
        "\"|\"\"\"\"",
        "Web Shop|\"Web Shop\"",
        "caf\u00e9 \ud83d\ude00|\"caf\u00e9 \ud83d\ude00\"",
        "back\\slash 'quoted' $$|\"back\\slash 'quoted' $$\"",
        "-- no comment|\"-- no comment\""
      })
  void a_name_is_quoted_whatever_is_in_it(String role, String quoted) {
    assertThat(new AlterLimit(role, 3).sql())
        .isEqualTo("ALTER ROLE " + quoted + " CONNECTION LIMIT 3");
  }

  @Test
  void a_newline_stays_within_the_quotes() {
    assertThat(new AlterLimit("a\nb", 0).sql()).isEqualTo("ALTER ROLE \"a\nb\" CONNECTION LIMIT 0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\0", "web\0", "we\0b"})
  void a_name_that_no_role_can_have_is_refused(String role) {
    assertThatIllegalArgumentException().isThrownBy(() -> new AlterLimit(role, 1));
  }

  @Test
  void a_limit_is_one_that_PostgreSQL_knows() {
    assertThat(new AlterLimit("web", -1).sql()).endsWith(" LIMIT -1");
    assertThat(new AlterLimit("web", 262_143).sql()).endsWith(" LIMIT 262143");
    assertThatIllegalArgumentException().isThrownBy(() -> new AlterLimit("web", -2));
    assertThatIllegalArgumentException().isThrownBy(() -> new AlterLimit("web", 262_144));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ALTER ROLE \"a\"; DROP ROLE \"x\" CONNECTION LIMIT 1",
        "ALTER ROLE \"a\" CONNECTION LIMIT 1; DROP ROLE x",
        "ALTER ROLE \"a\" CONNECTION LIMIT 1\n",
        "ALTER ROLE \"a\"\" CONNECTION LIMIT 1",
        "ALTER ROLE \"\" CONNECTION LIMIT 1",
        "ALTER ROLE \"\0\" CONNECTION LIMIT 1",
        "ALTER ROLE a CONNECTION LIMIT 1",
        "ALTER ROLE \"a\" CONNECTION LIMIT -2",
        "ALTER ROLE \"a\" CONNECTION LIMIT 1e3",
        "ALTER ROLE \"a\" PASSWORD 'x'",
        "ALTER ROLE \"a\" SUPERUSER CONNECTION LIMIT 1",
        "alter role \"a\" connection limit 1",
        ""
      })
  void the_second_look_refuses_everything_else(String text) {
    assertThat(RoleStatement.ALLOWED.matcher(text).matches()).isFalse();
  }
}
