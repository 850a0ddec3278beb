package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.pgsteward.model.TenantId;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PgStewardConfigTest {

  private static PgStewardConfig config(String rest) {
    return PgStewardConfig.builder().jdbcUrl("jdbc:pgsteward:" + rest).build();
  }

  private static PgStewardConfig config(UnaryOperator<PgStewardConfig.Builder> settings) {
    return settings
        .apply(PgStewardConfig.builder().jdbcUrl("jdbc:pgsteward://h/db").username("web"))
        .build();
  }

  private static String refusal(UnaryOperator<PgStewardConfig.Builder> settings) {
    IllegalArgumentException refused =
        catchThrowableOfType(IllegalArgumentException.class, () -> config(settings));
    assertThat(refused).as("the configuration is refused").isNotNull();
    return String.valueOf(refused.getMessage());
  }

  @Nested
  class The_tenant {

    @ParameterizedTest
    @CsvSource({
      "//h/shop?user=web, web@shop",
      "//h/shop?user=web&tenant=batch, web@shop/batch",
      "//h/?user=web, web@web",
      "shop?user=web, web@shop",
      "//h/a%40b?user=w%2Fb, w%2Fb@a%40b",
      "//h/db?user=web&PGDBNAME=other, web@other"
    })
    void is_role_and_database_as_pgjdbc_reads_them_and_our_label(String rest, String tenant) {
      assertThat(config(rest).tenant()).hasToString(tenant);
    }

    @Test
    void has_the_users_name_of_the_operating_system_when_no_role_is_given() {
      assertThat(config("//h/shop").tenant())
          .isEqualTo(TenantId.of(System.getProperty("user.name"), "shop"));
    }

    @Test
    void takes_the_role_from_the_url_before_the_setter_as_pgjdbc_does() {
      PgStewardConfig config =
          PgStewardConfig.builder()
              .jdbcUrl("jdbc:pgsteward://h/shop?user=url")
              .username("setter")
              .property("user", "property")
              .build();
      assertThat(config.tenant().role()).isEqualTo("url");
    }

    @Test
    void takes_the_role_from_the_setter_before_the_property() {
      assertThat(config(b -> b.username("setter").property("user", "property")).tenant().role())
          .isEqualTo("setter");
    }
  }

  @Nested
  class A_setting {

    @Test
    void of_the_url_wins_over_the_setter_and_the_setter_over_the_property() {
      UnaryOperator<PgStewardConfig.Builder> property = b -> b.property("fallbackSlots", "1");
      assertThat(config(property).number(Setting.FALLBACK_SLOTS)).isEqualTo(1);
      assertThat(config(b -> property.apply(b).fallbackSlots(3)).number(Setting.FALLBACK_SLOTS))
          .isEqualTo(3);
      assertThat(
              config(b -> b.jdbcUrl("jdbc:pgsteward://h/db?fallbackSlots=5").fallbackSlots(3))
                  .number(Setting.FALLBACK_SLOTS))
          .isEqualTo(5);
    }

    @Test
    void goes_back_to_its_default_with_null() {
      assertThat(config(b -> b.fallbackSlots(7).fallbackSlots(null))).isEqualTo(config(b -> b));
    }

    @ParameterizedTest
    @CsvSource({
      "1500,PT1.5S",
      "250ms,PT0.25S",
      "15s,PT15S",
      "15 s,PT15S",
      "2m,PT2M",
      "1h,PT1H",
      "0,PT0S"
    })
    void that_is_a_duration_is_milliseconds_or_has_a_unit(String text, Duration duration) {
      assertThat(config(b -> b.property("connectionTimeout", text)).connectionTimeout())
          .isEqualTo(duration);
    }

    @ParameterizedTest
    @CsvSource({
      "TRANSACTION_SERIALIZABLE,TRANSACTION_SERIALIZABLE",
      "transaction_read_committed,TRANSACTION_READ_COMMITTED",
      "REPEATABLE_READ,TRANSACTION_REPEATABLE_READ",
      "8,TRANSACTION_SERIALIZABLE"
    })
    void that_is_an_isolation_is_a_name_or_a_number(String text, String level) {
      assertThat(config(b -> b.transactionIsolation(text)).text(Setting.TRANSACTION_ISOLATION))
          .isEqualTo(level);
    }

    @ParameterizedTest
    @EnumSource(Setting.class)
    void has_a_default_that_its_own_rule_accepts(Setting setting) {
      Object value = setting.defaultValue();
      assertThat(value == null ? null : setting.problem(value)).isNull();
    }
  }

  @Nested
  class Wrong_values {

    @Test
    void are_all_told_at_once() {
      String message =
          refusal(
              b ->
                  b.jdbcUrl("jdbc:pgsteward://h:x/db?idleTimeout=1")
                      .fallbackSlots(-1)
                      .maximumPoolSize(0)
                      .maxLifetime(Duration.ofSeconds(1))
                      .connectionTimeout(Duration.ofMillis(-5))
                      .property("autoCommit", "yes")
                      .transactionIsolation("CHAOS")
                      .coordinator("c:7432"));
      assertThat(message)
          .contains(
              "has the port \"x\"",
              "fallbackSlots is at least 0, but it was -1",
              "maximumPoolSize is at least 1, but it was 0",
              "maxLifetime is at least 30000 ms, or 0, but it was 1000 ms",
              "connectionTimeout is at least 1 ms, or 0, but it was PT-0.005S",
              "autoCommit is true or false, but it was \"yes\"",
              "but it was \"CHAOS\"",
              "one of them was \"c:7432\"");
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "c",
          "c:7432",
          "ftp://c:7432",
          "http://",
          "http:// c",
          "http://c:7432,",
          "http://c:7432,local",
          "http://c:7432?x=1",
          "http://hush:hush@c:7432",
          "hush@c"
        })
    void for_the_coordinator_name_the_right_form(String address) {
      assertThat(refusal(b -> b.coordinator(address)))
          .contains("coordinator")
          .doesNotContain("hush:", "hush@");
    }

    @ParameterizedTest
    @ValueSource(
        strings = {"local", "http://c:7432", "https://c", "http://c:7432, http://[::1]:7433/"})
    void for_the_coordinator_do_not_include(String address) {
      assertThat(config(b -> b.coordinator(address)).text(Setting.COORDINATOR)).isEqualTo(address);
    }

    @ParameterizedTest
    @ValueSource(strings = {"any", "secondary", "preferSecondary", "preferPrimary", "slave"})
    void of_target_server_type_are_those_that_may_leave_the_instance(String type) {
      assertThat(refusal(b -> b.property("targetServerType", type)))
          .contains("targetServerType=" + type, "a standby");
    }

    @Test
    void of_keepalive_and_lifetime_that_contradict_each_other_are_refused() {
      assertThat(
              refusal(
                  b -> b.keepaliveTime(Duration.ofMinutes(3)).maxLifetime(Duration.ofMinutes(3))))
          .contains("keepaliveTime is below maxLifetime");
      assertThat(config(b -> b.maxLifetime(Duration.ofMinutes(1))).duration(Setting.KEEPALIVE_TIME))
          .isEqualTo(Duration.ZERO);
    }

    @Test
    void that_are_blank_are_refused_rather_than_taken_as_absent() {
      assertThat(refusal(b -> b.tenant(" ").instance("")))
          .contains("tenant is empty; leave it out", "instance is empty; leave it out");
    }

    @Test
    void of_the_token_are_not_shown() {
      assertThat(refusal(b -> b.coordinatorToken("hush hush")))
          .contains("coordinatorToken is visible ASCII")
          .doesNotContain("hush");
    }

    @Test
    void without_a_url_show_the_form_of_one() {
      assertThat(refusal(b -> b.jdbcUrl(null))).contains("jdbc:pgsteward://host:port/database");
    }

    @Test
    void of_an_unknown_service_are_told() {
      assertThat(refusal(b -> b.jdbcUrl("jdbc:pgsteward://h/db?service=nowhere&password=hush")))
          .contains("service")
          .doesNotContain("hush");
    }
  }

  @Nested
  class The_address {

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "//h/db | jdbc:postgresql://h:5432/db",
          "db | jdbc:postgresql://localhost:5432/db",
          "// | jdbc:postgresql://localhost:5432/web",
          "//h1,[::1]:5433/a%2Fb+c | jdbc:postgresql://h1:5432,[::1]:5433/a%2Fb+c",
          "//h/db?PGHOST=other&PGPORT=9 | jdbc:postgresql://other:9/db",
          "//h/db?ssl=true&password=hush | jdbc:postgresql://h:5432/db"
        })
    void is_what_pgjdbc_makes_of_it(String rest, String url) {
      PgStewardConfig config =
          PgStewardConfig.builder().jdbcUrl("jdbc:pgsteward:" + rest).username("web").build();
      assertThat(config.pgjdbcUrl()).isEqualTo(url);
    }

    @Test
    void leaves_every_parameter_to_pgjdbc_as_a_property() {
      assertThat(
              config("//h/db?user=web&password=p%26w&ssl=true&options=-c%20x%3D1&tenant=batch&odd")
                  .target()
                  .properties())
          .containsExactlyInAnyOrderEntriesOf(
              Map.of(
                  "user", "web", "password", "p&w", "ssl", "true", "options", "-c x=1", "odd", ""));
    }
  }

  @Nested
  class Several_hosts {

    @Test
    void are_tried_for_the_primary_alone() {
      ConnectionTarget target = config("//h1,h2:5433/db?user=web").target();
      assertThat(target.hosts()).containsExactly("h1:5432", "h2:5433");
      assertThat(target.properties()).containsEntry("targetServerType", "primary");
      assertThat(target.openTimeout()).isEqualTo(Duration.ofSeconds(20));
    }

    @Test
    void may_each_take_the_connect_timeout_unless_the_login_timeout_is_less() {
      assertThat(config("//h1,h2,h3/db?connectTimeout=4").target().openTimeout())
          .isEqualTo(Duration.ofSeconds(12));
      assertThat(config("//h1,h2/db?connectTimeout=4&loginTimeout=5").target().openTimeout())
          .isEqualTo(Duration.ofSeconds(5));
      assertThat(config("//h1/db?connectTimeout=0").target().openTimeout()).isZero();
    }
  }

  @Nested
  class Names_of_nobody {

    @ParameterizedTest
    @CsvSource({
      "coordinater=local, coordinator",
      "connectiontimeout=5, connectionTimeout",
      "fallbackSlot=1, fallbackSlots"
    })
    void that_look_like_ours_are_warned_of(String parameter, String meant) {
      PgStewardConfig config = config("//h/db?" + parameter);
      assertThat(config.warnings()).hasSize(1);
      assertThat(config.warnings().get(0)).contains("was " + meant + " meant?");
    }

    @Test
    void of_hikari_without_meaning_here_are_warned_of() {
      assertThat(config("//h/db?minimumIdle=5").warnings()).hasSize(1);
    }

    @Test
    void are_passed_on_in_silence_otherwise() {
      assertThat(config("//h/db?frobnicate=1&ApplicationName=x&currentSchema=a").warnings())
          .isEmpty();
    }
  }

  @Nested
  class Text_and_equality {

    @Test
    void show_no_secret() {
      PgStewardConfig config =
          PgStewardConfig.builder()
              .jdbcUrl("jdbc:pgsteward://h/db?password=hush&sslpassword=hush&user=web")
              .password("hush")
              .property("coordinatorToken", "hush")
              .build();
      for (String text : List.of(config.toString(), config.target().toString())) {
        assertThat(text).contains("web@db").doesNotContain("hush");
      }
    }

    @Test
    void make_equal_what_means_the_same() {
      PgStewardConfig one = config("//h/db?user=web&fallbackSlots=3");
      PgStewardConfig two =
          PgStewardConfig.builder()
              .jdbcUrl("jdbc:postgresql://h/db?user=web")
              .fallbackSlots(3)
              .build();
      assertThat(one).isEqualTo(two).hasSameHashCodeAs(two);
      assertThat(one).isNotEqualTo(config("//h/db?user=web&fallbackSlots=4"));
      assertThat(one).isNotEqualTo(config("//h/db?user=web&fallbackSlots=3&password=x"));
    }
  }
}
