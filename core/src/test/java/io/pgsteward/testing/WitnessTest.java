package io.pgsteward.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("postgres")
class WitnessTest {

  @Test
  void log_and_samples_agree_about_a_real_server() throws Exception {
    try (PostgresServer postgres = TestPostgres.own().start()) {
      TestRole web = postgres.createRoleNamed("web", "CONNECTION LIMIT 2");
      TestRole other = postgres.createRoleNamed("other", "");
      try (Witness witness = Witness.watch(postgres, Set.of("web")::contains)) {
        try (Connection one = postgres.connect("postgres", web);
            Connection foreign = postgres.connect("postgres", other);
            Connection two = postgres.connect("postgres", web)) {
          assertRefused(postgres, web);
          awaitSampled(witness, 2);
          assertThat(one.isValid(5) && two.isValid(5) && foreign.isValid(5)).isTrue();
        }
        awaitSampled(witness, 0);
        assertThat(witness.countedPeak().count()).isEqualTo(2);
        assertThat(witness.sampledPeak().count()).isEqualTo(2);
        assertThat(witness.counted("other").peak().count()).isEqualTo(1);
        assertThat(witness.counted().at(System.currentTimeMillis())).isZero();
      }
    }
  }

  private static void assertRefused(PostgresServer postgres, TestRole role) {
    try (Connection third = postgres.connect("postgres", role)) {
      throw new AssertionError("a third connection was let in: " + third);
    } catch (SQLException e) {
      assertThat(e.getSQLState()).isEqualTo("53300");
    }
  }

  private static void awaitSampled(Witness witness, int count) throws InterruptedException {
    Await.until("the sampler sees " + count, () -> witness.sampledNow() == count);
  }
}
