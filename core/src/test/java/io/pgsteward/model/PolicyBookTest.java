package io.pgsteward.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyBookTest {

  @Nested
  class policies {

    private final PolicyBook book =
        PolicyBook.builder()
            .tenant("*@*", max(1))
            .tenant("agent_*@*", max(2))
            .tenant("agent_*@shop", max(3))
            .tenant("agent_7@shop", max(4))
            .tenant("agent_7@shop/batch", max(5))
            .tenant("agent_*@shop/*", max(6))
            .tenant("*_9@shop", max(7))
            .tenant("a*t_9@*sh*op", max(8))
            .tenant("we%2Ab@s%40h%2Fop", max(9))
            .build();

    @ParameterizedTest
    @CsvSource({
      "web@shop,            1",
      "agent_1@other,       2",
      "agent_@other,        2",
      "agent_1@shop,        3",
      "agent_7@shop,        4",
      "agent_7@shop/batch,  5",
      "agent_7@shop/x,      6",
      "b_9@shop,            7",
      // agent_*@shop has ten given characters, a*t_9@*sh*op eight, *_9@shop six.
      "agent_9@shop,        3",
      "agent_9@sshXop,      8",
      "we%2Ab@s%40h%2Fop,   9",
      "weXb@s%40h%2Fop,     1",
    })
    void exact_goes_before_pattern_and_more_specific_before_less(String tenant, int max) {
      assertThat(book.policyOf(TenantId.parse(tenant))).isEqualTo(max(max));
    }

    @Test
    void an_entry_without_label_does_not_speak_of_tenants_with_one() {
      assertThat(book.policyOf(TenantId.parse("web@shop/batch"))).isNull();
    }

    @Test
    void of_equally_specific_patterns_the_first_entered_wins() {
      PolicyBook equal =
          PolicyBook.builder().tenant("a*@shop", max(1)).tenant("*a@shop", max(2)).build();
      assertThat(equal.policyOf(TenantId.parse("aa@shop"))).isEqualTo(max(1));
    }

    @Test
    void the_default_is_for_whoever_no_entry_matches() {
      PolicyBook withDefault =
          PolicyBook.builder().tenant("web@shop", max(5)).defaultPolicy(max(2)).build();
      assertThat(withDefault.policyOf(TenantId.parse("web@shop"))).isEqualTo(max(5));
      assertThat(withDefault.policyOf(TenantId.parse("web@other/x"))).isEqualTo(max(2));
    }

    @Test
    void exact_tenants_are_listed_in_the_order_of_entry() {
      assertThat(book.exactTenants())
          .containsExactly(
              TenantId.parse("agent_7@shop"),
              TenantId.parse("agent_7@shop/batch"),
              TenantId.parse("we%2Ab@s%40h%2Fop"));
    }
  }

  @Nested
  class refusals {

    @Test
    void without_entry_and_default_a_tenant_is_refused_with_what_to_do() {
      PolicyBook book = PolicyBook.builder().tenant("web@shop", max(5)).build();
      TenantId tenant = TenantId.parse("worker@shop");
      assertThat(book.policyOf(tenant)).isNull();
      assertThat(book.refusalOf(tenant)).contains("worker@shop", "entry", "default");
    }

    @Test
    void a_foreign_role_is_refused_even_if_an_entry_names_it() {
      PolicyBook book =
          PolicyBook.builder().tenant("monitor1@shop", max(5)).foreign("monitor*").build();
      TenantId tenant = TenantId.parse("monitor1@shop");
      assertThat(book.policyOf(tenant)).isNull();
      assertThat(book.refusalOf(tenant)).contains("monitor1", "\"monitor*\"");
    }

    @Test
    void the_coordinators_own_role_is_refused_unless_named() {
      TenantId tenant = TenantId.parse("pgsteward@shop");
      PolicyBook unnamed =
          PolicyBook.builder()
              .tenant("*@shop", max(4))
              .defaultPolicy(max(5))
              .ownRole("pgsteward")
              .build();
      assertThat(unnamed.policyOf(tenant)).isNull();
      assertThat(unnamed.policyOf(TenantId.parse("pgsteward@other"))).isNull();
      assertThat(unnamed.refusalOf(tenant)).contains("pgsteward", "own");

      PolicyBook named =
          PolicyBook.builder().tenant("pgsteward@shop", max(5)).ownRole("pgsteward").build();
      assertThat(named.policyOf(tenant)).isEqualTo(max(5));
    }

    @Test
    void there_is_no_refusal_of_a_tenant_that_is_not_refused() {
      PolicyBook book = PolicyBook.builder().defaultPolicy(max(5)).build();
      assertThatThrownBy(() -> book.refusalOf(TenantId.parse("web@shop")))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Nested
  class managed_roles {

    private final PolicyBook.Builder builder =
        PolicyBook.builder()
            .tenant("web@shop", max(5))
            .tenant("boss@*", max(5))
            .tenant("agent_*@*", max(5))
            .tenant("monitor_x@shop", max(5))
            .foreign("postgres")
            .foreign("monitor*")
            .ownRole("pgsteward");

    @ParameterizedTest
    @CsvSource({
      "web,        false, true",
      "agent_1,    false, true",
      "other,      false, false",
      "monitor_x,  false, false",
      "postgres,   true,  false",
      "pgsteward,  false, false",
      "agent_root, true,  false",
      "boss,       true,  true",
      "web,        true,  true",
    })
    void without_a_default_they_are_those_that_an_entry_matches(
        String role, boolean superuser, boolean managed) {
      assertThat(builder.build().manages(role, superuser)).isEqualTo(managed);
    }

    @ParameterizedTest
    @CsvSource({
      "web,        false, true",
      "other,      false, true",
      "monitor_x,  false, false",
      "postgres,   false, false",
      "pgsteward,  false, false",
      "root,       true,  false",
      "boss,       true,  true",
    })
    void with_a_default_they_are_all_but_the_foreign(
        String role, boolean superuser, boolean managed) {
      assertThat(builder.defaultPolicy(max(1)).build().manages(role, superuser)).isEqualTo(managed);
    }
  }

  @Nested
  class a_process_that_coordinates_for_itself {

    @ParameterizedTest
    @ValueSource(strings = {"app", "app@home", "star*", "100%"})
    void manages_its_role_whatever_it_is(String role) {
      PolicyBook book = PolicyBook.ofRole(role);
      assertThat(book.manages(role, true)).isTrue();
      assertThat(book.manages(role + "x", false)).isFalse();
      assertThat(book.policyOf(TenantId.of(role, "shop"))).isEqualTo(TenantPolicy.DEFAULT);
      assertThat(book.policyOf(new TenantId(role, "shop", "batch")))
          .isEqualTo(TenantPolicy.DEFAULT);
      assertThat(book.policyOf(TenantId.of(role + "x", "shop"))).isNull();
    }
  }

  @Nested
  class wrong_entries {

    @ParameterizedTest
    @ValueSource(
        strings = {"", "web", "@shop", "web@", "web@shop/", "a@b@c", "a@b/c/d", "a/b@c", "a%4@b"})
    void are_refused_with_their_text(String entry) {
      assertThatThrownBy(() -> PolicyBook.builder().tenant(entry, TenantPolicy.DEFAULT))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("\"" + entry + "\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"web@shop", "web*@shop"})
    void are_those_that_come_twice(String entry) {
      PolicyBook.Builder builder = PolicyBook.builder().tenant(entry, TenantPolicy.DEFAULT);
      assertThatThrownBy(() -> builder.tenant(entry, TenantPolicy.DEFAULT))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(entry);
    }
  }

  @Nested
  class name_patterns {

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void match_what_the_same_regular_expression_matches(long seed) {
      Random random = new Random(seed);
      for (int run = 0; run < 20_000; run++) {
        String pattern = text(random, "ab*", 1 + random.nextInt(6));
        String name = text(random, "ab", random.nextInt(8));
        String expression =
            Stream.of(pattern.split("\\*", -1))
                .map(Pattern::quote)
                .collect(Collectors.joining(".*"));
        assertThat(NamePattern.parse(pattern).matches(name))
            .as("seed %d: %s on %s", seed, pattern, name)
            .isEqualTo(name.matches(expression));
      }
    }

    private String text(Random random, String letters, int length) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < length; i++) {
        text.append(letters.charAt(random.nextInt(letters.length())));
      }
      return text.toString();
    }
  }

  private static TenantPolicy max(int max) {
    return new TenantPolicy(0, max, 1);
  }
}
