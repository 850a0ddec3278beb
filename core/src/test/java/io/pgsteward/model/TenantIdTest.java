package io.pgsteward.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TenantIdTest {

  @ParameterizedTest
  @CsvSource({
    "web@shop,           web,     shop,    ",
    "web@shop/batch,     web,     shop,    batch",
    "a%40b@c%2Fd/e%25,   a@b,     c/d,     e%",
    "'we\"b@sh op',      'we\"b', 'sh op', ",
    "ä@ü/日本,           ä,       ü,       日本",
    "%2A@x,              *,       x,       ",
    "a@%41,              a,       A,       ",
  })
  void reads_role_database_and_label(String text, String role, String database, String label) {
    TenantId tenant = TenantId.parse(text);
    assertThat(tenant).isEqualTo(new TenantId(role, database, label));
    assertThat(TenantId.parse(tenant.toString())).isEqualTo(tenant);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "web",
        "@",
        "web@",
        "@shop",
        "web@shop/",
        "a@b@c",
        "a/b@c",
        "a@b/c/d",
        "a@%4",
        "a@%zz"
      })
  void refuses_other_forms_and_quotes_them(String text) {
    assertThatThrownBy(() -> TenantId.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .satisfies(
            e ->
                assertThat(e.getMessage()).containsAnyOf("\"" + text + "\"", "role \"", "two hex"));
  }

  @RepeatedTest(50)
  void every_name_has_one_text() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    TenantId tenant =
        new TenantId(name(random), name(random), random.nextBoolean() ? name(random) : null);
    assertThat(TenantId.parse(tenant.toString())).as("seed %s", seed).isEqualTo(tenant);
  }

  private static String name(Random random) {
    String alphabet = "ab@/*% \t\u007f\"'\\,ä€";
    StringBuilder name = new StringBuilder();
    for (int i = random.nextInt(6) + 1; i > 0; i--) {
      name.append(alphabet.charAt(random.nextInt(alphabet.length())));
    }
    return name.toString();
  }
}
