package io.pgsteward.benchmarks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.DriverDataSource;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.jdbc.internal.pool.PoolEvents;
import io.pgsteward.jdbc.internal.pool.PoolRuntime;
import io.pgsteward.jdbc.internal.pool.TenantPool;
import io.pgsteward.jdbc.internal.pool.TenantPoolSettings;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * getConnection() and close() with idle connections at hand, by 1 and by 2 threads.
 *
 * <p>{@code stub}: the pools alone, both on {@link StubDriver}. {@code postgres}: what an
 * application calls, {@link PgStewardDataSource} and {@link HikariDataSource}, both on pgjdbc and
 * an embedded PostgreSQL, which a borrow within half a second of the last one does not touch.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
@Fork(3)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
public class BorrowBenchmark {

  private static final int CONNECTIONS = 8;

  @FunctionalInterface
  private interface Source {
    Connection get() throws SQLException;
  }

  @Param({"hikari", "pgsteward"})
  public String pool = "";

  @Param({"stub", "postgres"})
  public String driver = "";

  private Source source =
      () -> {
        throw new SQLException("not started");
      };
  private AutoCloseable ending = () -> {};

  @Setup
  public void start() throws SQLException {
    boolean ours = pool.equals("pgsteward");
    if (driver.equals("stub")) {
      DriverManager.registerDriver(new StubDriver());
      if (ours) {
        tenantPoolOnStub();
      } else {
        hikari(StubDriver.URL, "stub", "");
      }
    } else if (ours) {
      dataSource(TestPostgres.shared());
    } else {
      PostgresServer server = TestPostgres.shared();
      hikari(server.url("postgres"), server.superuser(), server.superuserPassword());
    }
    Connection[] all = new Connection[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) {
      all[i] = source.get();
    }
    for (Connection one : all) {
      one.close();
    }
  }

  private void tenantPoolOnStub() {
    PoolRuntime runtime = new PoolRuntime();
    TenantPool tenant =
        new TenantPool(
            TenantPoolSettings.builder("web@shop", StubDriver.URL, new Properties())
                .driver(new StubDriver())
                .initialLimit(CONNECTIONS)
                .build(),
            runtime,
            PoolEvents.NONE,
            failure -> new SQLException(failure.toString()));
    source = () -> tenant.getConnection(TimeUnit.SECONDS.toNanos(30));
    ending =
        () -> {
          tenant.close();
          runtime.close();
        };
  }

  private void dataSource(PostgresServer server) {
    PgStewardDataSource dataSource = Pools.pgsteward(server, CONNECTIONS);
    source = dataSource::getConnection;
    ending = dataSource;
  }

  private void hikari(String url, String user, String password) {
    HikariConfig config = new HikariConfig();
    config.setDataSource(new DriverDataSource(url, null, new Properties(), user, password));
    config.setMaximumPoolSize(CONNECTIONS);
    HikariDataSource dataSource = new HikariDataSource(config);
    source = dataSource::getConnection;
    ending = dataSource;
  }

  @TearDown
  public void stop() throws Exception {
    ending.close();
  }

  /**
   * The connection is handed to JMH as an application would hand it to its statements. Otherwise
   * the compiler removes HikariCP's proxy from a loop that does nothing with it, which no
   * application ever sees.
   */
  private Connection borrowAndReturn() throws SQLException {
    Connection connection = source.get();
    connection.close();
    return connection;
  }

  @Benchmark
  @Threads(1)
  public Connection oneThread() throws SQLException {
    return borrowAndReturn();
  }

  @Benchmark
  @Threads(2)
  public Connection twoThreads() throws SQLException {
    return borrowAndReturn();
  }
}
