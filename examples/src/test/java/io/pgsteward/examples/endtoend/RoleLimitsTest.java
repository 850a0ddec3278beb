package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.protocol.StatusResponse.StrayStatus;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.PostgresServer;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Pools, the coordinator's jar and PostgreSQL, which itself refuses what was not granted. */
@Tag("postgres")
@SuppressWarnings("NullAway.Init") // by start
class RoleLimitsTest {

  private static final int BUDGET = 12;
  private static final int GUARANTEE = 6;

  private EnforcedRig rig;

  @BeforeEach
  void start() throws Exception {
    int maxConnections = BUDGET + 3 + 3 + EnforcedRig.FOREIGN;
    rig =
        new EnforcedRig(
            Map.of("max_connections", "" + maxConnections, "superuser_reserved_connections", "3"),
            3,
            Map.of("web", "{ guarantee: " + GUARANTEE + " }", "worker", "{ guarantee: 2 }"));
  }

  @AfterEach
  void stop() throws Exception {
    rig.close();
  }

  private Connection borrow(PgStewardDataSource dataSource) throws SQLException {
    return rig.opened(dataSource.getConnection());
  }

  private void limitsFit() {
    assertThat(rig.limit("web")).isNotNegative();
    assertThat(rig.limit("worker")).isNotNegative();
    assertThat(rig.limit("web") + rig.limit("worker")).isLessThanOrEqualTo(BUDGET);
  }

  @Test
  void a_process_that_bypasses_the_pool_is_refused_and_nobody_else_notices() throws Exception {
    PgStewardDataSource pool = rig.dataSource("web", "web");
    for (int i = 0; i < GUARANTEE - 1; i++) {
      borrow(pool);
    }
    Await.until("headroom up to the guarantee", () -> rig.limit("web") == GUARANTEE);
    rig.opened(rig.stray("web"));
    assertThatThrownBy(() -> rig.stray("web"))
        .isInstanceOfSatisfying(
            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("53300"));
    Await.until(
        "it shows as a stray",
        () -> {
          try {
            return rig.coordinator.instance().strays().stream()
                    .filter(stray -> stray.role().equals(rig.role("web").name()))
                    .mapToInt(StrayStatus::count)
                    .sum()
                == 1;
          } catch (IOException e) {
            return false;
          }
        });
    PgStewardDataSource other = rig.dataSource("worker", "worker");
    for (int i = 0; i < 4; i++) {
      borrow(other);
    }
    limitsFit();
  }

  @Test
  void a_limit_changed_by_another_hand_is_put_right_and_no_connection_is_lost() throws Exception {
    PgStewardDataSource pool = rig.dataSource("web", "web");
    List<Connection> held = new ArrayList<>();
    for (int i = 0; i < 9; i++) {
      held.add(borrow(pool));
    }
    Await.until("limits follow", () -> rig.limit("web") >= 9);
    limitsFit();
    rig.administer(
        "ALTER ROLE " + PostgresServer.quoted(rig.role("web").name()) + " CONNECTION LIMIT 2");
    Await.until("put right", () -> rig.limit("web") >= 9);
    for (Connection connection : held) {
      assertThat(connection.isValid(5)).isTrue();
    }
    borrow(pool);
    limitsFit();
  }
}
