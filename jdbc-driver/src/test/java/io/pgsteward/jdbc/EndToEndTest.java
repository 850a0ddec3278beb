package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.FaultProxy;
import io.pgsteward.testing.JvmProcess;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.core.BaseConnection;

/** The driver as an application uses it, against PostgreSQL. */
class EndToEndTest extends DriverOnPostgres {

  @Nested
  class A_data_source {

    @Test
    void serves_statements_transactions_and_what_is_postgresqls_own() throws Exception {
      PgStewardDataSource dataSource = dataSource(settings().autoCommit(false));
      try (Connection connection = dataSource.getConnection();
          Statement statement = connection.createStatement()) {
        statement.execute("CREATE TEMP TABLE t(a int[], b text)");
        statement.execute("INSERT INTO t VALUES ('{1,2}', 'x')");
        connection.commit();
        statement.execute("INSERT INTO t VALUES ('{3}', 'never committed')");
        connection.rollback();
        long copied =
            new CopyManager(connection.unwrap(BaseConnection.class))
                .copyIn("COPY t FROM STDIN", new java.io.StringReader("{4,5}\ty\n"));
        assertThat(copied).isEqualTo(1);
        assertThat(connection.unwrap(PGConnection.class).getBackendPID()).isPositive();
        try (ResultSet rows = statement.executeQuery("SELECT a FROM t ORDER BY b")) {
          rows.next();
          assertThat((Object[]) rows.getArray(1).getArray()).containsExactly(1, 2);
        }
        assertThat(connection.getMetaData().getURL()).startsWith("jdbc:postgresql://");
        assertThat(connection.getMetaData().getDatabaseProductName()).isEqualTo("PostgreSQL");
        connection.rollback();
      }
      TenantSnapshot after = dataSource.snapshot();
      assertThat(after.inUse()).isZero();
      assertThat(after.counters().borrowed()).isEqualTo(1);
      assertThat(after.counters().opened()).isEqualTo(1);
    }

    @Test
    void reuses_its_connection() throws SQLException {
      PgStewardDataSource dataSource = dataSource(settings());
      for (int i = 0; i < 50; i++) {
        try (Connection connection = dataSource.getConnection()) {
          assertThat(one(connection)).isEqualTo(1);
        }
      }
      assertThat(backends()).isEqualTo(1);
      assertThat(dataSource.snapshot().counters().opened()).isEqualTo(1);
    }

    @Test
    void leaves_nothing_behind_when_it_is_closed() throws Exception {
      PgStewardDataSource dataSource = new PgStewardDataSource(settings().build());
      dataSource.getConnection().close();
      assertThat(backends()).isEqualTo(1);
      dataSource.close();
      awaitBackends(0);
    }

    @Test
    void lets_a_connection_in_use_end_its_work_after_the_close() throws Exception {
      PgStewardDataSource dataSource = new PgStewardDataSource(settings().build());
      try (Connection connection = dataSource.getConnection()) {
        long start = System.nanoTime();
        dataSource.close();
        long millis = (System.nanoTime() - start) / 1_000_000;
        System.out.println("close with a connection in use took " + millis + " ms");
        assertThat(millis).isLessThan(4_000);
        assertThat(one(connection)).isEqualTo(1);
      }
      awaitBackends(0);
    }

    @Test
    void shares_its_connections_with_its_equals() throws Exception {
      PgStewardDataSource first = dataSource(settings());
      PgStewardDataSource second = dataSource(settings().connectionTimeout(Duration.ofSeconds(9)));
      first.getConnection().close();
      second.getConnection().close();
      assertThat(backends()).isEqualTo(1);
      first.close();
      try (Connection connection = second.getConnection()) {
        assertThat(one(connection)).isEqualTo(1);
      }
      assertThat(backends()).isEqualTo(1);
    }

    @Test
    void made_anew_for_each_request_holds_no_more_than_one() throws Exception {
      dataSource(settings()).getConnection().close();
      for (int i = 0; i < 20; i++) {
        try (Connection connection = dataSource(settings()).getConnection()) {
          assertThat(one(connection)).isEqualTo(1);
        }
      }
      assertThat(backends()).isEqualTo(1);
    }

    @Test
    void of_the_same_tenant_with_other_settings_is_refused_by_their_names() throws Exception {
      dataSource(settings()).getConnection().close();
      PgStewardDataSource other = dataSource(settings().schema("other"));
      SQLException error = catchThrowableOfType(SQLException.class, other::getConnection);
      assertThat((Throwable) error).hasMessageContainingAll("schema", "tenant=");
    }

    @Test
    void tells_its_listeners() throws Exception {
      PgStewardDataSource dataSource = dataSource(settings());
      Queue<String> heard = new ConcurrentLinkedQueue<>();
      dataSource.addListener(
          new PgStewardListener() {
            @Override
            public void connectionOpened(String tenant, int pid, Duration took) {
              heard.add("opened " + tenant);
              throw new IllegalStateException("a listener that fails");
            }

            @Override
            public void connectionClosed(String tenant, int pid) {
              heard.add("closed " + tenant);
            }
          });
      try (Connection connection = dataSource.getConnection()) {
        connection.abort(Runnable::run);
      }
      String tenant = role.name() + "@" + database;
      Await.until("both events", () -> heard.size() == 2);
      assertThat(heard).containsExactly("opened " + tenant, "closed " + tenant);
    }
  }

  @Nested
  class The_driver {

    @Test
    void shares_one_pool_among_callers_with_the_same_url() throws Exception {
      String url =
          url("?user=" + role.name() + "&password=")
              + URLEncoder.encode(role.password(), StandardCharsets.UTF_8);
      for (int i = 0; i < 20; i++) {
        try (Connection connection = DriverManager.getConnection(url)) {
          assertThat(one(connection)).isEqualTo(1);
        }
      }
      assertThat(backends()).isEqualTo(1);
      assertThat(PgStewardDriver.snapshots())
          .extracting(TenantSnapshot::tenant)
          .containsExactly(role.name() + "@" + database);
      PgStewardDriver.closeAll();
      awaitBackends(0);
    }

    @Test
    void takes_role_and_password_as_arguments() throws Exception {
      try (Connection connection =
          DriverManager.getConnection(url(""), role.name(), role.password())) {
        assertThat(one(connection)).isEqualTo(1);
      }
    }

    @Test
    void keeps_no_pool_for_a_wrong_password() throws Exception {
      SQLException error =
          catchThrowableOfType(
              SQLException.class, () -> DriverManager.getConnection(url(""), role.name(), "hush"));
      assertThat(error.getSQLState()).isEqualTo("28P01");
      assertThat(PgStewardDriver.snapshots()).isEmpty();
    }
  }

  @Nested
  class Several_hosts {

    @Test
    void the_second_is_tried_when_the_first_is_a_black_hole() throws Exception {
      FaultProxy hole = opened(FaultProxy.before(server));
      hole.stall();
      PgStewardDataSource dataSource =
          dataSource(
              settings()
                  .coordinator(unusedCoordinator())
                  .jdbcUrl(
                      "jdbc:pgsteward://127.0.0.1:"
                          + hole.port()
                          + ","
                          + server.host()
                          + ":"
                          + server.port()
                          + "/"
                          + database
                          + "?connectTimeout=2"));
      long start = System.nanoTime();
      try (Connection connection = dataSource.getConnection()) {
        assertThat(one(connection)).isEqualTo(1);
      }
      System.out.println(
          "first host a black hole: connected after "
              + (System.nanoTime() - start) / 1_000_000
              + " ms");
    }
  }

  @Nested
  class Another_pool_on_top {

    @Test
    void works_by_url_and_by_the_name_of_the_driver() throws Exception {
      HikariConfig config = new HikariConfig();
      config.setDriverClassName(PgStewardDriver.class.getName());
      config.setJdbcUrl(url("?coordinator=" + unusedCoordinator()));
      config.setUsername(role.name());
      config.setPassword(role.password());
      config.setMaximumPoolSize(2);
      try (HikariDataSource outer = new HikariDataSource(config);
          Connection connection = outer.getConnection()) {
        assertThat(one(connection)).isEqualTo(1);
        assertThat(connection.unwrap(PGConnection.class).getBackendPID()).isPositive();
      }
    }
  }

  @Nested
  class A_program_that_closes_nothing {

    @Test
    void ends_when_main_returns() throws Exception {
      long[] returned = new long[1];
      JvmProcess program =
          opened(
              JvmProcess.start(
                  "forgetful program",
                  ForgetfulProgram.class,
                  List.of(url(""), role.name(), role.password()),
                  line -> {
                    if (line.equals(ForgetfulProgram.LAST_WORDS)) {
                      returned[0] = System.nanoTime();
                    }
                  }));
      int exit = program.exitCode(Duration.ofSeconds(60));
      long millis = (System.nanoTime() - returned[0]) / 1_000_000;
      assertThat(exit).as(program.tail()).isZero();
      assertThat(returned[0]).as(program.tail()).isNotZero();
      System.out.println("the JVM ended " + millis + " ms after main returned");
      assertThat(millis).isLessThan(5_000);
    }
  }

  /** Borrows by DataSource and by URL, and closes neither the pool nor the last connection. */
  static final class ForgetfulProgram {
    static final String LAST_WORDS = "main returns";

    public static void main(String[] arguments) throws SQLException {
      PgStewardDataSource dataSource = new PgStewardDataSource();
      dataSource.setUrl(arguments[0]);
      dataSource.setUsername(arguments[1]);
      dataSource.setPassword(arguments[2]);
      one(dataSource.getConnection());
      try (Connection connection =
          DriverManager.getConnection(arguments[0], arguments[1], arguments[2])) {
        one(connection);
      }
      System.out.println(LAST_WORDS);
    }
  }
}
