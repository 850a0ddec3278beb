package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.Await;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Others log in as the pool's role and take places below its limit. */
class RoleLimitRacesTest extends PoolOnPostgres {

  private static final int ROUNDS = Integer.getInteger("pgsteward.races.rounds", 20);
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(30);

  private final Deque<Connection> others = new ArrayDeque<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void end() throws SQLException {
    threads.shutdownNow();
    for (Connection other : others) {
      other.close();
    }
  }

  private void another() throws SQLException {
    others.push(
        DriverManager.getConnection(postgres.url("postgres"), role.name(), role.password()));
  }

  private List<Future<?>> borrowAtOnce(TenantPool pool, int borrowers) {
    List<Future<?>> asked = new ArrayList<>();
    for (int i = 0; i < borrowers; i++) {
      asked.add(
          threads.submit(
              () -> {
                try (Connection connection = pool.getConnection(PATIENCE)) {
                  query(connection, "select pg_sleep(0.002)");
                }
                return null;
              }));
    }
    return asked;
  }

  /** PostgreSQL may refuse all of several simultaneous logins for one free place. */
  @Test
  void one_place_for_twenty_logins_at_once_serves_all_and_nobody_sees_the_refusals()
      throws Exception {
    limitRoleTo(10);
    for (int i = 0; i < 9; i++) {
      another();
    }
    TenantPool pool = fixture.pool(settings(20));
    for (int round = 0; round < ROUNDS; round++) {
      for (Future<?> one : borrowAtOnce(pool, 20)) {
        one.get(60, TimeUnit.SECONDS);
      }
      assertThat(pool.usage().open()).isEqualTo(1);
      pool.limit(0);
      Await.until("closed", () -> pool.usage().held() == 0);
      pool.limit(20);
    }
    assertThat(pool.usage().counters().refused53300()).isPositive();
  }

  @Test
  void places_taken_by_others_make_a_smaller_pool_until_they_leave() throws Exception {
    limitRoleTo(8);
    for (int i = 0; i < 3; i++) {
      another();
    }
    TenantPool pool = fixture.pool(settings(8));
    for (int round = 0; round < 10; round++) {
      for (Future<?> one : borrowAtOnce(pool, 16)) {
        one.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(pool.usage().open()).isEqualTo(5);
    while (!others.isEmpty()) {
      others.pop().close();
    }
    Await.until(
        "all of it",
        () -> {
          borrowAtOnce(pool, 16);
          return pool.usage().open() == 8;
        });
  }
}
