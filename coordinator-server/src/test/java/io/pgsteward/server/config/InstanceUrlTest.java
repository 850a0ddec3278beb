package io.pgsteward.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The URL of an instance: which forms are taken, and what is refused without quoting it. */
class InstanceUrlTest {

  @TempDir Path directory;

  private Path file(String url) throws IOException {
    return Files.writeString(
        directory.resolve("pgsteward.yml"),
        """
        instances:
          main:
            url: "%s"
            user: pgsteward
            default: {}
        """
            .formatted(url));
  }

  private List<String> problems(String url) throws IOException {
    Path file = file(url);
    ConfigException refused =
        catchThrowableOfType(ConfigException.class, () -> new ConfigLoader(Map.of()).load(file));
    assertThat(refused).as("the file must be refused").isNotNull();
    return refused.problems().stream().map(p -> p.in("f")).toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:postgresql://a,b:5433/db",
        "jdbc:postgresql://[fe80::1%eth0]:5432,[::1]/db",
        "jdbc:postgresql://h/at%40home",
        "jdbc:postgresql://h/db?ApplicationName=a@b",
      })
  void is_taken_in_many_forms(String url) throws Exception {
    ServerConfig config = new ConfigLoader(Map.of()).load(file(url));

    assertThat(config.instances().get(0).url()).isEqualTo(url);
  }

  static Stream<Arguments> wrongUrls() {
    return Stream.of(
        Arguments.of("jdbc:mysql://h/db", "must be a PostgreSQL JDBC URL"),
        Arguments.of("jdbc:postgresql://h:port/db", "must be a PostgreSQL JDBC URL"),
        Arguments.of("jdbc:postgresql://h?password=p", "must be a PostgreSQL JDBC URL"),
        Arguments.of("jdbc:postgresql://h/a/b", "must be a PostgreSQL JDBC URL"),
        Arguments.of("jdbc:postgresql://u%3Ap/db", "must be a PostgreSQL JDBC URL"),
        Arguments.of("jdbc:postgresql://h/", "names no database"),
        Arguments.of("jdbc:postgresql:///db", "names no host"),
        Arguments.of("jdbc:postgresql://h/db?password=p", "holds a password"),
        Arguments.of("jdbc:postgresql://h/db?user=x", "but the url says x"),
        Arguments.of("jdbc:postgresql://a,b/db?targetServerType=any", "targetServerType is any"));
  }

  @ParameterizedTest
  @MethodSource("wrongUrls")
  void is_refused_where_a_url_is_wrong(String url, String message) throws IOException {
    assertThat(problems(url))
        .singleElement()
        .asString()
        .matches("f:[34]: instances.main.(url|user): .*")
        .contains(message);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:postgresql://u:S3CRET@host/db",
        "jdbc:postgresql://u:S3CRET@host:5432/db",
        "jdbc:postgresql://S3CRET@host/db",
        "jdbc:postgresql://u%3AS3CRET%40host/db",
        "jdbc:postgresql://u:S3CRET%40host:5432/db",
        "jdbc:postgresql://a:1,u:S3CRET@b:5432/db",
        "jdbc:postgresql://u:S3CRET@a:1,b:2/db",
        "jdbc:postgresql://u:S3CRET@[::1]:5432/db",
        "jdbc:postgresql://[u:S3CRET@::1]/db",
        "jdbc:postgresql://u:S3C/RET@host/db",
        "jdbc:postgresql://u:S3C?RET@host/db",
        "jdbc:postgresql://u:12?S3CRET@host/db",
        "jdbc:postgresql://u:12#S3CRET@host/db",
        "jdbc:postgresql:u:S3CRET@host",
      })
  void with_user_info_in_a_url_is_refused_without_repeating_it(String url) throws IOException {
    Logger pgjdbc = Logger.getLogger("org.postgresql");
    List<String> logged = new ArrayList<>();
    Handler handler = new Recorder(logged);
    pgjdbc.addHandler(handler);
    try {
      assertThat(problems(url))
          .singleElement()
          .asString()
          .startsWith("f:3: instances.main.url: has something before an @")
          .contains("give the role as user and its password as password")
          .doesNotContain("S3C", "RET");
    } finally {
      pgjdbc.removeHandler(handler);
    }
    assertThat(logged).isEmpty();
  }

  /** What pgjdbc says about a URL, which would come to the program's standard error. */
  private static final class Recorder extends Handler {

    private final List<String> messages;

    Recorder(List<String> messages) {
      this.messages = messages;
    }

    @Override
    public void publish(LogRecord line) {
      messages.add(line.getMessage() + " " + Arrays.toString(line.getParameters()));
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
