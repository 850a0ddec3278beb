package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.close;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.failureOf;
import static io.pgsteward.jdbc.internal.pool.PoolFixture.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.PostgresServer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What becomes of backends. */
class TenantPoolPostgresTest extends PoolOnPostgres {

  @Test
  void closing_and_opening_at_a_role_limit_of_one_never_reaches_the_borrower() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    for (int i = 0; i < 1_000; i++) {
      try (Connection connection = borrow(pool)) {
        if (i % 10 == 0) {
          query(connection, "create temp table t as select 1");
        }
        pool.limit(0);
      }
      pool.limit(1);
    }
    assertThat(pool.usage().counters().opened()).isGreaterThanOrEqualTo(1_000);
    assertThat(pool.usage().counters().refused53300()).isZero();
  }

  @Test
  void interrupts_at_random_lose_no_slot(Random random) throws Exception {
    TenantPool pool = fixture.pool(settings(3));
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger interrupted = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Thread thread =
          new Thread(
              () -> {
                while (!stop.get()) {
                  try (Connection connection = borrow(pool)) {
                    query(connection, "select 1");
                  } catch (SQLException e) {
                    interrupted.incrementAndGet();
                  }
                  Thread.interrupted();
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (int i = 0; i < 1_000; i++) {
      threads.get(random.nextInt(threads.size())).interrupt();
      TimeUnit.MICROSECONDS.sleep(random.nextInt(3_000));
    }
    stop.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    Await.until("closes are over", () -> pool.usage().closing() == 0);
    assertThat(pool.usage().inUse()).isZero();
    assertThat(pool.usage().held()).isEqualTo(backends());
    close(borrow(pool, 3));
    assertThat(interrupted.get()).isPositive();
  }

  @Test
  void a_lowering_of_twenty_idle_to_five_ends_fifteen_backends() throws Exception {
    TenantPool pool = fixture.pool(settings(20));
    close(borrow(pool, 20));
    assertThat(backends()).isEqualTo(20);
    pool.limit(5);
    Await.until("the pool holds 5", () -> pool.usage().held() == 5);
    assertThat(backends()).isEqualTo(5);
    assertThat(pool.usage().pids()).hasSize(5);
  }

  @Test
  void a_lowering_with_all_in_use_interrupts_nothing() throws Exception {
    TenantPool pool = fixture.pool(settings(6));
    List<Connection> held = borrow(pool, 6);
    for (Connection connection : held) {
      connection.setAutoCommit(false);
      query(connection, "select 1");
    }
    pool.limit(2);
    for (Connection connection : held) {
      query(connection, "select 2");
      connection.commit();
      connection.close();
    }
    Await.until("the pool holds 2", () -> pool.usage().held() == 2);
    assertThat(backends()).isEqualTo(2);
  }

  @Test
  void a_terminated_backend_gives_its_slot_back() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    Connection lent = borrow(pool);
    postgres.execute("select pg_terminate_backend(" + pidOf(lent) + ")");
    assertThatThrownBy(() -> query(lent, "select 1")).isInstanceOf(SQLException.class);
    borrow(pool).close();
    lent.close();
    borrow(pool).close();
  }

  @Test
  void a_connection_closed_through_pgjdbc_gives_its_slot_back() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    Connection lent = borrow(pool);
    lent.unwrap(org.postgresql.jdbc.PgConnection.class).close();
    Connection next = borrow(pool);
    lent.close();
    assertThat(pool.usage().inUse()).isEqualTo(1);
    next.close();
  }

  @Test
  void an_abort_in_the_middle_of_a_statement_counts_until_the_backend_is_gone() throws Exception {
    limitRoleTo(1);
    TenantPool pool = fixture.pool(settings(1));
    Connection lent = borrow(pool);
    int pid = pidOf(lent);
    FutureTask<Boolean> running =
        fixture.start(
            () -> {
              assertThatThrownBy(() -> query(lent, "select pg_sleep(600)"))
                  .isInstanceOf(SQLException.class);
              return true;
            });
    Await.until("it runs", () -> isRunning(pid));
    lent.abort(Runnable::run);
    get(running);
    Await.until("it is closing", () -> pool.usage().closing() == 1);
    assertThat(pool.usage().pids()).containsExactly(pid);
    assertThat(failureOf(() -> pool.getConnection(TimeUnit.MILLISECONDS.toNanos(200))))
        .isInstanceOf(BorrowFailure.TimedOut.class);
    postgres.execute("select pg_terminate_backend(" + pid + ")");
    Await.until("PostgreSQL shows it gone", () -> !exists(pid));
    pool.gone(List.of(pid));
    borrow(pool).close();
  }

  @Test
  void a_backend_that_lives_on_is_found_gone_over_another_connection() throws Exception {
    TenantPool pool = fixture.pool(settings(2));
    List<Connection> held = borrow(pool, 2);
    int pid = abortedInMidStatement(pool, held.get(0));
    held.get(1).close();
    TimeUnit.MILLISECONDS.sleep(600); // long enough to be asked about
    assertThat(pool.usage().closing()).isEqualTo(1);
    postgres.execute("select pg_terminate_backend(" + pid + ")");
    Await.until("it is found gone", () -> pool.usage().closing() == 0);
    assertThat(pool.usage().counters().gaveUpCloses()).isZero();
    close(borrow(pool, 2));
  }

  /** Aborts it while its backend is busy and so lives on; gives that backend. */
  private int abortedInMidStatement(TenantPool pool, Connection connection) throws Exception {
    int pid = pidOf(connection);
    FutureTask<Boolean> running =
        fixture.start(
            () -> {
              assertThatThrownBy(() -> query(connection, "select pg_sleep(600)"))
                  .isInstanceOf(SQLException.class);
              return true;
            });
    Await.until("it runs", () -> isRunning(pid));
    connection.abort(Runnable::run);
    get(running);
    Await.until("it is closing", () -> pool.usage().closing() == 1);
    return pid;
  }

  private boolean isRunning(int pid) {
    return exists(pid, " and state = 'active' and query like '%pg_sleep%'");
  }

  private boolean exists(int pid) {
    return exists(pid, "");
  }

  private boolean exists(int pid, String condition) {
    try (Connection connection = postgres.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "select 1 from pg_stat_activity where pid = " + pid + condition)) {
      return rows.next();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void a_backend_is_found_gone_also_while_somebody_waits_all_the_time() throws Exception {
    TenantPool pool = fixture.pool(settings(2));
    List<Connection> held = borrow(pool, 2);
    int pid = abortedInMidStatement(pool, held.get(0));
    AtomicBoolean enough = new AtomicBoolean();
    List<FutureTask<Boolean>> busy = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      busy.add(
          fixture.start(
              () -> {
                while (!enough.get()) {
                  try (Connection mine = borrow(pool)) {
                    query(mine, "select pg_sleep(0.02)");
                  }
                }
                return true;
              }));
    }
    held.get(1).close();
    postgres.execute("select pg_terminate_backend(" + pid + ")");
    Await.until("it is found gone", () -> pool.usage().closing() == 0);
    enough.set(true);
    for (FutureTask<Boolean> one : busy) {
      get(one);
    }
    assertThat(pool.usage().counters().gaveUpCloses()).isZero();
  }

  @Test
  void every_connection_has_the_isolation_of_the_role_and_gets_it_back_after_use()
      throws Exception {
    postgres.execute(
        "alter role "
            + PostgresServer.quoted(role.name())
            + " set default_transaction_isolation = 'repeatable read'");
    TenantPool pool = fixture.pool(settings(3));
    for (int i = 0; i < 2; i++) {
      List<Connection> held = borrow(pool, 3);
      for (Connection connection : held) {
        assertThat(connection.getTransactionIsolation())
            .isEqualTo(Connection.TRANSACTION_REPEATABLE_READ);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      }
      close(held);
    }
  }
}
