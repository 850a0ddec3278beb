package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.FaultProxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/**
 * The driver against PostgreSQL, with a coordinator or PostgreSQL that is not there or of no use.
 */
class EndToEndWithoutCoordinatorTest extends DriverOnPostgres {

  @Nested
  class What_cannot_heal {

    @Test
    void a_wrong_password_is_one_clear_error_and_no_login_storm() throws Exception {
      FaultProxy proxy = opened(FaultProxy.before(server));
      PgStewardDataSource dataSource =
          dataSource(
              settings()
                  .jdbcUrl("jdbc:pgsteward://127.0.0.1:" + proxy.port() + "/" + database)
                  .coordinator(unusedCoordinator())
                  .password("hush"));
      ExecutorService threads = Executors.newFixedThreadPool(16);
      try {
        List<Future<SQLException>> errors = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
          errors.add(
              threads.submit(
                  () -> catchThrowableOfType(SQLException.class, dataSource::getConnection)));
        }
        for (Future<SQLException> each : errors) {
          SQLException error = each.get();
          assertThat((Throwable) error)
              .isInstanceOf(SQLNonTransientConnectionException.class)
              .hasMessageContainingAll(role.name() + "@" + database, "password authentication")
              .message()
              .doesNotContain("hush");
          assertThat(error.getSQLState()).isEqualTo("28P01");
        }
      } finally {
        threads.shutdownNow();
      }
      System.out.println("16 threads with a wrong password: " + proxy.accepted() + " logins");
      assertThat(proxy.accepted()).as("attempts to log in").isLessThanOrEqualTo(16);
    }

    @Test
    void a_missing_password_is_said() throws Exception {
      PgStewardDataSource dataSource =
          dataSource(settings().coordinator(unusedCoordinator()).password(null));
      long start = System.nanoTime();
      SQLException error = catchThrowableOfType(SQLException.class, dataSource::getConnection);
      long millis = (System.nanoTime() - start) / 1_000_000;
      System.out.println("no password: told after " + millis + " ms: " + error.getMessage());
      assertThat((Throwable) error)
          .isInstanceOf(SQLNonTransientConnectionException.class)
          .hasMessageContaining("password");
      assertThat(millis).isLessThan(10_000);
    }

    @Test
    void a_missing_database_is_named() throws Exception {
      PgStewardDataSource dataSource =
          dataSource(
              settings()
                  .coordinator(unusedCoordinator())
                  .jdbcUrl("jdbc:pgsteward://" + server.host() + ":" + server.port() + "/nowhere"));
      SQLException error = catchThrowableOfType(SQLException.class, dataSource::getConnection);
      assertThat(error.getSQLState()).isEqualTo("3D000");
      assertThat((Throwable) error).hasMessageContaining("\"nowhere\" does not exist");
    }

    @Test
    void a_tenant_that_the_coordinator_refuses_hears_its_reason() throws Exception {
      GrantingCoordinator coordinator =
          opened(
              new GrantingCoordinator(
                  new GrantingCoordinator.Answer(0, 0, null, 0, 97, "no entry matches it")));
      PgStewardDataSource dataSource =
          dataSource(settings().coordinator(coordinator.url()).fallbackSlots(0));
      SQLException error = catchThrowableOfType(SQLException.class, dataSource::getConnection);
      assertThat((Throwable) error)
          .isInstanceOf(SQLNonTransientConnectionException.class)
          .hasMessageContaining("no entry matches it");
      assertThat(error.getSQLState()).isEqualTo("08004");
    }
  }

  @Nested
  class Without_a_coordinator {

    @Test
    void a_process_has_its_fallback_slots() throws Exception {
      PgStewardDataSource dataSource =
          dataSource(
              settings()
                  .coordinator(unusedCoordinator())
                  .connectionTimeout(Duration.ofMillis(1500)));
      try (Connection first = dataSource.getConnection();
          Connection second = dataSource.getConnection()) {
        assertThat(one(first) + one(second)).isEqualTo(2);
        NoSlotException error =
            catchThrowableOfType(NoSlotException.class, dataSource::getConnection);
        assertThat(error.limit()).isEqualTo(FullLimit.MEMBER_GRANT);
        assertThat((Throwable) error)
            .hasMessageContainingAll(
                "all 2 slots of this process are taken",
                "without its coordinator",
                "not usable",
                "already holds a connection of the tenant");
      }
    }

    @Test
    void that_takes_its_token_a_process_has_them_at_once() throws Exception {
      GrantingCoordinator coordinator =
          opened(new GrantingCoordinator(new GrantingCoordinator.Answer(9, 9, null, 9, 97, null)));
      coordinator.refuseTokens();
      PgStewardDataSource dataSource = dataSource(settings().coordinator(coordinator.url()));
      long start = System.nanoTime();
      dataSource.getConnection().close();
      long millis = (System.nanoTime() - start) / 1_000_000;
      System.out.println("token refused: first connection after " + millis + " ms");
      assertThat(millis).isLessThan(4_000);
    }

    @Test
    void and_without_postgresql_a_borrower_ends_at_its_timeout() throws Exception {
      FaultProxy postgres = opened(FaultProxy.before(server));
      FaultProxy coordinator = opened(FaultProxy.before("127.0.0.1", server.port()));
      postgres.stall();
      coordinator.stall();
      PgStewardDataSource dataSource =
          dataSource(
              settings()
                  .jdbcUrl("jdbc:pgsteward://127.0.0.1:" + postgres.port() + "/" + database)
                  .coordinator("http://127.0.0.1:" + coordinator.port())
                  .connectionTimeout(Duration.ofMillis(2000)));
      for (int i = 0; i < 4; i++) {
        long start = System.nanoTime();
        SQLException error = catchThrowableOfType(SQLException.class, dataSource::getConnection);
        long millis = (System.nanoTime() - start) / 1_000_000;
        System.out.println(
            "black hole: getConnection ended after "
                + millis
                + " ms of 2000: "
                + error.getMessage());
        assertThat((Throwable) error).isInstanceOf(SQLTransientConnectionException.class);
        if (i == 3) { // the first ones may still have hoped for the coordinator
          assertThat(error.getSQLState()).isEqualTo("08001");
        }
        assertThat(millis).isBetween(1_990L, 4_000L);
      }
      long start = System.nanoTime();
      dataSource.close();
      System.out.println(
          "black hole: close took " + (System.nanoTime() - start) / 1_000_000 + " ms");
      postgres.close();
      coordinator.close();
      // What PostgreSQL has not confirmed is watched for some seconds more.
      Await.until("no thread is left", () -> threadsOfOurs() == 0);
    }
  }
}
