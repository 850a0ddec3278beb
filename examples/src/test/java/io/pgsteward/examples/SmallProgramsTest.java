package io.pgsteward.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.CoordinatorSetup;
import io.pgsteward.testing.JvmProcess;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Runs the small programs as a user does: each in its own JVM, until it ends by itself. */
@Tag("postgres")
class SmallProgramsTest {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  private PostgresServer postgres;
  private TestRole web;
  private String url;

  @BeforeEach
  void start() throws SQLException {
    postgres = TestPostgres.shared();
    web = postgres.createRole("web");
    url =
        "jdbc:pgsteward://"
            + postgres.host()
            + ":"
            + postgres.port()
            + "/"
            + postgres.createDatabase("shop");
  }

  @Test
  void a_plain_data_source_is_granted_its_slot_by_the_coordinator() throws Exception {
    try (CoordinatorProcess coordinator =
        CoordinatorSetup.of(postgres).others("{ guarantee: 0 }").start()) {
      coordinator.awaitReady();
      List<String> said =
          said(PlainDataSource.class, url, web.name(), web.password(), coordinator.url());
      assertThat(said).contains("hello, " + web.name());
      assertThat(said).anyMatch(line -> line.matches("granted [1-9][0-9]* of a budget of [0-9]+"));
    }
  }

  @Test
  void a_driver_url_is_all_that_a_program_needs() {
    List<String> said =
        said(DriverUrl.class, url, web.name(), web.password()).stream()
            .filter(line -> line.startsWith("connection "))
            .toList();
    assertThat(said).hasSize(2);
    assertThat(said.get(1))
        .as("the second connection is the first one again")
        .isEqualTo(said.get(0).replace("connection 1", "connection 2"));
  }

  @Test
  void without_arguments_they_say_how_they_are_used() {
    for (Class<?> program : List.of(PlainDataSource.class, DriverUrl.class)) {
      try (JvmProcess process =
          JvmProcess.start(program.getSimpleName(), program, List.of(), line -> {})) {
        assertThat(process.exitCode(LIMIT)).isEqualTo(2);
        assertThat(process.output()).singleElement().asString().startsWith("usage: ");
      }
    }
  }

  private static List<String> said(Class<?> program, String... arguments) {
    try (JvmProcess process =
        JvmProcess.start(program.getSimpleName(), program, List.of(arguments), line -> {})) {
      assertThat(process.exitCode(LIMIT)).as(process.tail()).isZero();
      return process.output();
    }
  }
}
