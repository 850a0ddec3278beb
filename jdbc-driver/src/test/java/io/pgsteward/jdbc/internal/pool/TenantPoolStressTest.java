package io.pgsteward.jdbc.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.Seeds;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Everything at once, for a moment: rule S2 holds throughout, and nothing is lost at the end. */
@Timeout(60)
@ExtendWith({NoThreadsLeft.class, Seeds.class})
class TenantPoolStressTest {

  private static final int MOST = 6;

  @RegisterExtension final PoolFixture fixture = new PoolFixture();

  @RepeatedTest(3)
  void no_slot_is_lost_and_the_limit_holds_in_the_middle_of_everything(Random seeds)
      throws Exception {
    fixture.driver.onConnect =
        attempt -> {
          if (attempt % 17 == 0) {
            throw new SQLException("full", "53300");
          }
        };
    TenantPool pool =
        fixture.pool(
            fixture
                .settings(MOST)
                .keepaliveTime(Duration.ofMillis(40))
                .maxLifetime(Duration.ofMillis(300)));
    AtomicBoolean stop = new AtomicBoolean();
    AtomicReference<Throwable> wrong = new AtomicReference<>();
    AtomicLong served = new AtomicLong();
    List<FutureTask<Void>> borrowers = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      Random random = new Random(seeds.nextLong());
      borrowers.add(
          fixture.start(
              () -> {
                while (!stop.get()) {
                  use(pool, random, served);
                }
                return null;
              }));
    }
    Random random = new Random(seeds.nextLong());
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
    while (System.nanoTime() - end < 0) {
      pool.limit(random.nextInt(MOST + 1));
      pool.checkInvariants();
      PoolUsage usage = pool.report();
      if (usage.held() > MOST || fixture.driver.alive.get() > MOST) {
        wrong.compareAndSet(null, new AssertionError("too many: " + usage));
      }
      LockSupport.parkNanos(random.nextInt(3_000_000));
    }
    pool.limit(MOST);
    stop.set(true);
    for (FutureTask<Void> borrower : borrowers) {
      PoolFixture.get(borrower);
    }
    assertThat(wrong.get()).isNull();
    assertThat(fixture.driver.mostAlive.get()).isLessThanOrEqualTo(MOST);
    assertThat(served.get()).isGreaterThan(100);
    Await.until("nothing is in use", () -> pool.usage().inUse() == 0);
    Await.until("nothing is closing", () -> pool.usage().closing() == 0);
    List<Connection> all = PoolFixture.borrow(pool, MOST);
    pool.checkInvariants();
    PoolFixture.close(all);
    Await.until("as many are alive as counted", () -> sameAsAlive(pool));
  }

  private boolean sameAsAlive(TenantPool pool) {
    return pool.usage().held() == fixture.driver.alive.get();
  }

  private static void use(TenantPool pool, Random random, AtomicLong served) {
    Connection connection;
    try {
      connection = pool.getConnection(TimeUnit.MILLISECONDS.toNanos(random.nextInt(20)));
    } catch (SQLException e) {
      return;
    }
    served.incrementAndGet();
    try {
      if (random.nextInt(4) == 0) {
        LockSupport.parkNanos(random.nextInt(1_000_000));
      }
      switch (random.nextInt(40)) {
        case 0 -> connection.abort(Runnable::run);
        case 1 -> connection.unwrap(Connection.class).close();
        case 2 -> connection.unwrap(StubDriver.StubConnection.class).close();
        case 3 -> {
          connection.unwrap(StubDriver.StubConnection.class).failOnUse =
              new SQLException("terminated", "57P01");
          connection.createStatement();
        }
        case 4 -> {
          connection.setAutoCommit(false);
          connection.unwrap(StubDriver.StubConnection.class).failOnRollback =
              new SQLException("broken", "08006");
          connection.createStatement();
        }
        default -> connection.createStatement().close();
      }
    } catch (SQLException e) {
      // one of the failures that were switched on
    } finally {
      try {
        connection.close();
      } catch (SQLException e) {
        // the same
      }
    }
  }
}
