package io.pgsteward.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConnectionLogTest {

  private static final Set<String> MANAGED = Set.of("web", "worker");

  /** Recorded from servers with max_connections 8, 2 of them for superusers, web limited to 2. */
  @Nested
  class Recorded {

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void peaks_per_role_and_in_sum(int version) throws IOException {
      List<BackendSession> sessions = recorded(version);
      assertThat(peak(sessions, Set.of("web"))).isEqualTo(2);
      assertThat(peak(sessions, Set.of("worker"))).isEqualTo(6);
      assertThat(peak(sessions, MANAGED)).isEqualTo(6);
      assertThat(peak(sessions, Set.of("postgres"))).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void a_refused_backend_never_counts(int version) throws IOException {
      assertThat(recorded(version))
          .noneMatch(session -> session.database().equals("nowhere"))
          .noneMatch(session -> session.role().equals("nobody"))
          .filteredOn(session -> session.role().equals("web"))
          .hasSize(4);
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void nothing_is_left_after_a_crash_or_a_stop(int version) throws IOException {
      assertThat(recorded(version)).allMatch(session -> session.end() != Long.MAX_VALUE);
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void names_with_spaces_are_whole(int version) throws IOException {
      assertThat(recorded(version))
          .filteredOn(session -> session.role().equals("odd name"))
          .singleElement()
          .satisfies(
              session -> {
                assertThat(session.database()).isEqualTo("my shop");
                assertThat(session.application()).isEqualTo("batch database=x");
              });
    }
  }

  @Test
  void a_terminated_backend_counts_until_its_disconnection() {
    List<BackendSession> sessions =
        read(
            "1.000 [7] LOG:  connection authorized: user=web database=shop",
            "2.000 [7] FATAL:  terminating connection due to administrator command",
            "2.500 [7] LOG:  disconnection: session time: 0:00:01.500 user=web database=shop"
                + " host=127.0.0.1 port=1");
    assertThat(sessions)
        .singleElement()
        .satisfies(
            session -> {
              assertThat(session.startMillis()).isEqualTo(1000);
              assertThat(session.endMillis()).isEqualTo(2500);
            });
  }

  @Test
  void a_pid_that_comes_again_is_another_backend() {
    assertThat(
            read(
                "1.000 [7] LOG:  connection authorized: user=web database=shop",
                "2.000 [7] LOG:  disconnection: session time: 0:00:01.000",
                "3.000 [7] LOG:  connection authorized: user=worker database=shop SSL enabled"
                    + " (protocol=TLSv1.3, cipher=TLS_AES_256_GCM_SHA384, bits=256)"))
        .extracting(BackendSession::role, BackendSession::database)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple("web", "shop"),
            org.assertj.core.groups.Tuple.tuple("worker", "shop"));
  }

  @Test
  void in_one_millisecond_the_order_of_the_lines_decides() {
    List<BackendSession> sessions =
        read(
            "1.000 [7] LOG:  connection authorized: user=web database=shop",
            "5.000 [7] LOG:  disconnection: session time: 0:00:04.000",
            "5.000 [8] LOG:  connection authorized: user=web database=shop");
    assertThat(peak(sessions, MANAGED)).isEqualTo(1);
  }

  @Test
  void other_lines_are_passed_over() {
    assertThat(
            read(
                "1.000 [7] LOG:  checkpoint starting: time",
                "\tsome second line of a message",
                "",
                "1.000 [7] LOG:  statement: select 'disconnection: '"))
        .isEmpty();
  }

  private static int peak(List<BackendSession> sessions, Set<String> roles) {
    return BackendCounts.of(sessions, session -> roles.contains(session.role())).peak().count();
  }

  private static List<BackendSession> read(String... lines) {
    return ConnectionLog.read(Stream.of(lines));
  }

  private static List<BackendSession> recorded(int version) throws IOException {
    InputStream in =
        Objects.requireNonNull(
            ConnectionLogTest.class.getResourceAsStream("postgres-" + version + ".log"));
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      return ConnectionLog.read(reader.lines());
    }
  }
}
