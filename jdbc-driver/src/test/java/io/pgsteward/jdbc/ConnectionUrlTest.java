package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.Driver;

class ConnectionUrlTest {

  private final List<String> problems = new ArrayList<>();

  private @Nullable ConnectionUrl parse(String url) {
    return ConnectionUrl.parse(url, problems::add);
  }

  private ConnectionUrl parsed(String url) {
    ConnectionUrl parsed = Objects.requireNonNull(parse(url), () -> problems.toString());
    assertThat(problems).isEmpty();
    return parsed;
  }

  @Nested
  class Well_formed {

    @ParameterizedTest
    @ValueSource(
        strings = {
          "//h/db",
          "//h:5433/db",
          "//h/",
          "//",
          "///",
          "",
          "db",
          "//h1,h2:5433,h3/db",
          "//h,/db",
          "//,h/db",
          "//[::1]/db",
          "//[::1]:5433/db",
          "//[fe80::1%25eth0],[::2]:5433/db",
          "//h/a%40b%2Fc%25",
          "//h/d%C3%A4t%C3%A4",
          "//h/d b",
          "//h/db#x",
          "//h/db;x=1",
          "//h/db?user=u&password=p%26w%3D%25+x%2B",
          "//h/db?user=in%20url",
          "//h/?user=u",
          "//h/db?ApplicationName=a+b&options=-c%20search_path%3Da,b",
          "//h/db?a=1&a=2",
          "//h/db?flag",
          "//h/db?flag=",
          "//h/db?&&a=b&",
          "//h/db?b=x?y=z",
          "//h/db?PGHOST=other&PGPORT=9",
          "//h/db?password=first&password=second",
          "//h/db?sslpassword=s%C3%A9cret&ssl=true",
          "//h/db?host=x&dbname=y"
        })
    void reaches_pgjdbc_exactly_as_if_it_had_been_written_for_pgjdbc(String rest) {
      Map<String, String> expected = pgjdbc("jdbc:postgresql:" + rest, Map.of());
      assertThat(expected).as("pgjdbc understands it").isNotNull();

      ConnectionUrl ours = parsed("jdbc:pgsteward:" + rest);
      assertThat(pgjdbc(ours.pgjdbcUrl(), ours.secrets())).isEqualTo(expected);

      ConnectionUrl plain = parsed("jdbc:postgresql:" + rest);
      assertThat(plain).isEqualTo(ours);
    }

    @Test
    void settings_of_ours_are_taken_out_and_nothing_else_changes() {
      ConnectionUrl url =
          parsed(
              "jdbc:pgsteward://h/db?a=%41+1&coordinator=http://c:7432,http://d:7432&fallbackSlots=3"
                  + "&b=&tenant=night%20batch");
      assertThat(url.pgjdbcUrl()).isEqualTo("jdbc:postgresql://h/db?a=%41+1&b=");
      assertThat(url.settings())
          .containsExactlyInAnyOrderEntriesOf(
              Map.of(
                  Setting.COORDINATOR, "http://c:7432,http://d:7432",
                  Setting.FALLBACK_SLOTS, "3",
                  Setting.TENANT, "night batch"));
    }

    @Test
    void secrets_leave_the_url_and_its_text() {
      ConnectionUrl url =
          parsed("jdbc:pgsteward://h/db?password=hush&sslpassword=hush&coordinatorToken=hush&x=1");
      assertThat(url.pgjdbcUrl()).isEqualTo("jdbc:postgresql://h/db?x=1");
      assertThat(url.secrets()).containsOnlyKeys("password", "sslpassword");
      assertThat(url.toString()).doesNotContain("hush");
    }
  }

  @Nested
  class Malformed {

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "jdbc:mysql://h/db?password=hush | url starts with jdbc:pgsteward: or jdbc:postgresql:",
          "jdbc:pgsteward | url starts with jdbc:pgsteward: or jdbc:postgresql:",
          "jdbc:pgsteward:postgresql://h/db?password=hush | write \"jdbc:pgsteward://h/db\"",
          "jdbc:pgsteward://h?password=hush | no / after the host",
          "jdbc:pgsteward://h/db/x?password=hush | more than one / after the host",
          "jdbc:pgsteward:/db?password=hush | one slash",
          "jdbc:pgsteward://h:/db?password=hush | has the port \"\"",
          "jdbc:pgsteward://h:x/db?password=hush | has the port \"x\"",
          "jdbc:pgsteward://h:0/db?password=hush | a port is a number from 1 to 65535",
          "jdbc:pgsteward://h1,h2:70000/db?password=hush | has the port \"70000\"",
          "jdbc:pgsteward://u:hush@h/db | names a user before the host",
          "jdbc:pgsteward://u:hush@h:5432/db | write ?user=",
          "jdbc:pgsteward://::1/db?password=hush | write [::1]",
          "jdbc:pgsteward://h/%zz?password=hush | a % in the database",
          "jdbc:pgsteward://h/db?password=hush%zz | url parameter password has a %",
          "jdbc:pgsteward://h/db?tenant=a&tenant=b | url parameter tenant is given twice"
        })
    void is_told_in_one_sentence_that_names_the_thing_and_no_secret(String url, String sentence) {
      parse(url);
      assertThat(problems).hasSize(1);
      assertThat(problems.get(0)).contains(sentence).doesNotContain("hush");
    }

    @ParameterizedTest
    @ValueSource(
        strings = {"//h", "//h:/db", "//h:0/db", "//h/db/x", "/db", "//u:p@h/db", "//h/%zz"})
    void is_what_pgjdbc_refuses_too(String rest) {
      assertThat(Driver.parseURL("jdbc:postgresql:" + rest, new Properties())).isNull();
      assertThat(parse("jdbc:pgsteward:" + rest)).isNull();
    }
  }

  private static @Nullable Map<String, String> pgjdbc(String url, Map<String, String> properties) {
    Properties defaults = new Properties();
    defaults.setProperty("user", "from properties");
    defaults.putAll(properties);
    Properties read = Driver.parseURL(url, defaults);
    if (read == null) {
      return null;
    }
    Map<String, String> map = new TreeMap<>();
    for (String name : read.stringPropertyNames()) {
      map.put(name, read.getProperty(name));
    }
    return map;
  }
}
