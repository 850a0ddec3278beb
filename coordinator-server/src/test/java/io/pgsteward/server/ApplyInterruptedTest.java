package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.ConnectionSource;
import io.pgsteward.postgres.PostgresLeaderSession;
import io.pgsteward.server.InstanceCommand.Instance;
import io.pgsteward.server.config.InstanceConfig;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An apply whose connection breaks before or after its n-th statement, for each n. */
@Tag("postgres")
@Timeout(300)
class ApplyInterruptedTest {

  private static final Duration LEASE = Duration.ofSeconds(15);
  private static final Map<String, Integer> WANTED = Map.of("agent_1", 3, "web", 16, "worker", 8);

  private static ManagedServer server;

  @TempDir Path directory;
  private InstanceConfig instance;

  @BeforeAll
  static void start() {
    server = new ManagedServer();
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  @BeforeEach
  void reset() throws Exception {
    server.reset();
    instance = ManagedServer.instance(server.config(directory));
    server.connect("agent_1", 3);
  }

  @ParameterizedTest(name = "{0}, broken {2} a statement")
  @CsvSource({
    "by functions from no limits, -1 -1 -1, before",
    "by functions from no limits, -1 -1 -1, after",
    "by functions from limits, 30 2 1, before",
    "by functions from limits, 30 2 1, after",
    "by createrole from limits, 30 2 1, before",
    "by createrole from limits, 30 2 1, after"
  })
  void leaves_no_more_than_the_budget_and_the_next_run_finishes(
      String setup, String limits, String when) throws Exception {
    Path config = server.config(directory);
    CommandRun sql =
        setup.contains("createrole")
            ? CommandRun.of("setup-sql", "--create-role", "--config", config.toString())
            : CommandRun.of("setup-sql", "--config", config.toString());
    server.run(sql.out());
    String[] from = limits.split(" ", -1);
    boolean changed = false;
    for (int statement = 1; ; statement++) {
      server.run(
          "ALTER ROLE agent_1 CONNECTION LIMIT "
              + from[0]
              + "; ALTER ROLE web CONNECTION LIMIT "
              + from[1]
              + "; ALTER ROLE worker CONNECTION LIMIT "
              + from[2]);
      Map<String, Integer> before = server.limits();

      boolean broke = isBroken(new Breaking(statement, when.equals("before")));

      Map<String, Integer> after = server.limits();
      changed |= broke && !after.equals(before);
      if (!after.equals(before)) {
        assertThat(after.values()).as("after statement " + statement).doesNotContain(-1);
        assertThat(after.values().stream().mapToInt(Integer::intValue).sum())
            .as("%s after statement %d", after, statement)
            .isLessThanOrEqualTo(ManagedServer.BUDGET);
      }
      assertThat(isBroken(new Breaking(Integer.MAX_VALUE, true))).isFalse();
      assertThat(server.limits()).as("finished after statement " + statement).isEqualTo(WANTED);
      if (!broke) {
        assertThat(statement).as("statements of an apply").isGreaterThan(10);
        break;
      }
    }
    assertThat(changed).as("some broken run had changed something").isTrue();
  }

  private boolean isBroken(Breaking source) throws Exception {
    Instance one = new Instance(instance, LEASE, new PrintWriter(new StringWriter()));
    try (PostgresLeaderSession session =
        new PostgresLeaderSession(
            source, "apply@test", instance.agreed(), LEASE, Ticker.system(), true)) {
      assertThat(ApplyCommand.apply(one, session)).isEqualTo(ExitCode.OK);
      return false;
    } catch (SQLException e) {
      assertThat(source.broken).as(e.toString()).isTrue();
      return true;
    } finally {
      server.quiet();
    }
  }

  /** Connections of which the n-th call to the server breaks them. */
  private final class Breaking implements ConnectionSource {

    private static final Set<String> CALLS = Set.of("execute", "executeQuery", "commit");

    private final int last;
    private final boolean before;
    private final AtomicInteger calls = new AtomicInteger();
    private boolean broken;

    Breaking(int last, boolean before) {
      this.last = last;
      this.before = before;
    }

    @Override
    public Connection open() throws SQLException {
      Connection real =
          ConnectionSource.of(instance.url(), instance.credentials(), Duration.ofSeconds(5)).open();
      return wrap(real, Connection.class, real);
    }

    private <T> T wrap(T real, Class<T> type, Connection connection) {
      return type.cast(
          Proxy.newProxyInstance(
              type.getClassLoader(),
              new Class<?>[] {type},
              (proxy, method, arguments) -> {
                boolean counts = CALLS.contains(method.getName());
                if (counts && calls.incrementAndGet() == last && before) {
                  throw breakDown(connection);
                }
                Object result;
                try {
                  result = method.invoke(real, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getTargetException();
                }
                if (counts && calls.get() == last) {
                  throw breakDown(connection);
                }
                if (result instanceof PreparedStatement statement) {
                  return wrap(statement, PreparedStatement.class, connection);
                }
                return result instanceof Statement statement
                    ? wrap(statement, Statement.class, connection)
                    : result;
              }));
    }

    private SQLException breakDown(Connection connection) throws SQLException {
      broken = true;
      connection.abort(Runnable::run);
      return new SQLException("the connection broke", "08006");
    }
  }
}
