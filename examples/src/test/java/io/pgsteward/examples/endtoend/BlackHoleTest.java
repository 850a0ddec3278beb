package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.FaultProxy;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** PostgreSQL and the coordinator accept connections and never answer. */
@Tag("postgres")
@ExtendWith(NoThreadsLeft.class)
class BlackHoleTest {

  private static final Duration TIMEOUT = Duration.ofMillis(2_000);
  private static final Duration TOLERANCE = Duration.ofMillis(250);
  private static final int THREADS = 8;
  private static final int CALLS_EACH = 2;

  @ParameterizedTest
  @EnumSource(
      value = FaultProxy.Fault.class,
      names = {"STALL", "DROP"})
  void every_call_ends_at_its_timeout(FaultProxy.Fault fault) throws Exception {
    PostgresServer postgres = TestPostgres.shared();
    TestRole web = postgres.createRole("web");
    String database = postgres.createDatabase("shop");
    try (FaultProxy beforePostgres = FaultProxy.before(postgres);
        FaultProxy beforeCoordinator = FaultProxy.before("127.0.0.1", postgres.port());
        PgStewardDataSource dataSource =
            new PgStewardDataSource(
                PgStewardConfig.builder()
                    .jdbcUrl("jdbc:pgsteward://127.0.0.1:" + beforePostgres.port() + "/" + database)
                    .username(web.name())
                    .password(web.password())
                    .coordinator("http://127.0.0.1:" + beforeCoordinator.port())
                    .connectionTimeout(TIMEOUT)
                    .build())) {
      blackHole(beforePostgres, fault);
      blackHole(beforeCoordinator, fault);
      List<Duration> took = callAll(dataSource);
      System.out.println(fault + ", connectionTimeout 2000 ms: the calls took " + took);
      assertThat(took)
          .hasSize(THREADS * CALLS_EACH)
          .allMatch(time -> time.compareTo(TIMEOUT.minus(TOLERANCE)) >= 0)
          .allMatch(time -> time.compareTo(TIMEOUT.plus(TOLERANCE)) <= 0);
    }
  }

  @Test
  void once_the_hole_is_gone_calls_succeed() throws Exception {
    PostgresServer postgres = TestPostgres.shared();
    TestRole web = postgres.createRole("web");
    String database = postgres.createDatabase("shop");
    try (FaultProxy proxy = FaultProxy.before(postgres);
        PgStewardDataSource dataSource =
            new PgStewardDataSource(
                PgStewardConfig.builder()
                    .jdbcUrl("jdbc:pgsteward://127.0.0.1:" + proxy.port() + "/" + database)
                    .username(web.name())
                    .password(web.password())
                    .coordinator("http://127.0.0.1:1")
                    .connectionTimeout(Duration.ofSeconds(1))
                    .build())) {
      proxy.stall();
      assertThat(called(dataSource)).isGreaterThan(Duration.ofMillis(750));
      proxy.pass();
      assertThat(succeeds(dataSource)).isTrue();
    }
  }

  private static void blackHole(FaultProxy proxy, FaultProxy.Fault fault) {
    if (fault == FaultProxy.Fault.STALL) {
      proxy.stall();
    } else {
      proxy.drop();
    }
  }

  private static List<Duration> callAll(PgStewardDataSource dataSource) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<List<Duration>>> running = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        running.add(
            threads.submit(
                () -> {
                  List<Duration> took = new ArrayList<>();
                  for (int call = 0; call < CALLS_EACH; call++) {
                    took.add(called(dataSource));
                  }
                  return took;
                }));
      }
      List<Duration> all = new ArrayList<>();
      for (Future<List<Duration>> one : running) {
        all.addAll(one.get());
      }
      return all;
    } finally {
      threads.shutdownNow();
    }
  }

  /** How long it took to fail. */
  private static Duration called(PgStewardDataSource dataSource) {
    long start = System.nanoTime();
    try (Connection connection = dataSource.getConnection()) {
      throw new AssertionError("a black hole gave a connection: " + connection);
    } catch (SQLException expected) {
      return Duration.ofNanos(System.nanoTime() - start);
    }
  }

  private static boolean succeeds(PgStewardDataSource dataSource) {
    for (int tries = 0; tries < 20; tries++) {
      try (Connection connection = dataSource.getConnection()) {
        return connection.isValid(5);
      } catch (SQLException stillFailing) {
        // A connect that was under way in the hole may have to end first.
      }
    }
    return false;
  }
}
