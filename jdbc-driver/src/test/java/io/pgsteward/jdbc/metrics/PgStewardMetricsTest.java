package io.pgsteward.jdbc.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(NoThreadsLeft.class)
class PgStewardMetricsTest {

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  @AfterEach
  void close() {
    registry.close();
  }

  private double value(String meter) {
    return registry.get(meter).meter().measure().iterator().next().getValue();
  }

  private static PgStewardConfig.Builder settings() {
    return PgStewardConfig.builder().jdbcUrl("jdbc:pgsteward://h/shop").username("web");
  }

  @Nested
  class Of_a_data_source_that_has_not_started {

    @Test
    void are_there_and_zero() {
      try (PgStewardDataSource dataSource = new PgStewardDataSource(settings().build())) {
        new PgStewardMetrics(dataSource).bindTo(registry);
        assertThat(value("pgsteward.limit")).isZero();
        assertThat(value("hikaricp.connections.max")).isZero();
        assertThat(registry.get("pgsteward.limit").tag("tenant", "web@shop").gauge()).isNotNull();
        assertThat(registry.get("hikaricp.connections").tag("pool", "web@shop").gauge())
            .isNotNull();
      }
    }

    @Test
    void carry_the_pools_name_if_one_is_given() {
      try (PgStewardDataSource dataSource =
          new PgStewardDataSource(settings().poolName("main pool").build())) {
        new PgStewardMetrics(dataSource).bindTo(registry);
        assertThat(registry.get("hikaricp.connections").tag("pool", "main pool").gauge())
            .isNotNull();
      }
    }

    @Test
    void leave_the_registry_when_closed() {
      try (PgStewardDataSource dataSource = new PgStewardDataSource(settings().build())) {
        PgStewardMetrics metrics = new PgStewardMetrics(dataSource);
        metrics.bindTo(registry);
        metrics.close();
        assertThat(registry.getMeters()).isEmpty();
      }
    }

    @Test
    void are_found_behind_a_proxy_that_unwraps() {
      try (PgStewardDataSource dataSource = new PgStewardDataSource(settings().build())) {
        new PgStewardMetrics(proxied(dataSource)).bindTo(registry);
        assertThat(registry.getMeters()).isNotEmpty();
      }
    }

    @Test
    void need_a_data_source_of_ours() {
      try (PgStewardDataSource dataSource = new PgStewardDataSource(settings().build())) {
        DataSource foreign = proxied(proxied(dataSource));
        assertThat(foreign).isNotInstanceOf(PgStewardDataSource.class);
      }
      DataSource other = new org.postgresql.ds.PGSimpleDataSource();
      assertThatThrownBy(() -> new PgStewardMetrics(other))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("PGSimpleDataSource");
    }

    private DataSource proxied(DataSource target) {
      return (DataSource)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {DataSource.class},
              (proxy, method, arguments) -> {
                try {
                  return method.invoke(target, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }
  }

  @Nested
  @Tag("postgres")
  class At_full_use_with_waiters {

    private final PostgresServer server = TestPostgres.shared();

    @Test
    void every_figure_is_right_at_once() throws Exception {
      TestRole role = server.createRole("meter");
      String database = server.createDatabase("meters");
      PgStewardDataSource dataSource =
          new PgStewardDataSource(
              PgStewardConfig.builder()
                  .jdbcUrl(server.url(database))
                  .username(role.name())
                  .password(role.password())
                  .coordinator(unusedCoordinator())
                  .fallbackSlots(3)
                  .connectionTimeout(Duration.ofSeconds(60))
                  .build());
      new PgStewardMetrics(dataSource).bindTo(registry);
      ExecutorService threads = Executors.newFixedThreadPool(5);
      List<Connection> taken = new ArrayList<>();
      try {
        for (int i = 0; i < 3; i++) {
          taken.add(dataSource.getConnection());
        }
        List<Future<?>> waiters = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
          waiters.add(threads.submit(() -> borrowOnce(dataSource)));
        }
        Await.until("all wait", () -> dataSource.snapshot().waiting() == 5);
        Await.until("the scrape sees it", () -> value("hikaricp.connections.pending") == 5);
        assertThat(value("hikaricp.connections.active")).isEqualTo(3);
        assertThat(value("hikaricp.connections.idle")).isZero();
        assertThat(value("hikaricp.connections.max")).isEqualTo(3);
        assertThat(value("hikaricp.connections")).isEqualTo(3);
        assertThat(value("pgsteward.in.use")).isEqualTo(3);
        assertThat(value("pgsteward.waiting")).isEqualTo(5);
        assertThat(value("pgsteward.demand")).isEqualTo(8);
        assertThat(value("pgsteward.coordinator.usable")).isZero();
        for (Connection each : taken) {
          each.close();
        }
        for (Future<?> each : waiters) {
          each.get();
        }
        Await.until("the scrape sees the end", () -> value("pgsteward.waiting") == 0);
        assertThat(value("pgsteward.borrow")).isEqualTo(8);
        assertThat(value("hikaricp.connections.creation")).isEqualTo(3);
        assertThat(value("hikaricp.connections.active")).isZero();
      } finally {
        threads.shutdownNow();
        dataSource.close();
      }
    }

    @Test
    void a_thousand_tenants_are_scraped_within_a_second_or_so() {
      List<PgStewardDataSource> dataSources = new ArrayList<>();
      for (int i = 0; i < 1_000; i++) {
        PgStewardDataSource dataSource =
            new PgStewardDataSource(settings().jdbcUrl("jdbc:pgsteward://h/shop" + i).build());
        dataSources.add(dataSource);
        new PgStewardMetrics(dataSource).bindTo(registry);
      }
      long start = System.nanoTime();
      double sum = 0;
      for (Meter meter : registry.getMeters()) {
        sum += meter.measure().iterator().next().getValue();
      }
      long millis = (System.nanoTime() - start) / 1_000_000;
      System.out.println("1,000 tenants: one scrape took " + millis + " ms");
      assertThat(sum).isCloseTo(-3_000, within(0.1)); // three unknown figures of -1 each
      assertThat(millis).isLessThan(20_000);
      dataSources.forEach(PgStewardDataSource::close);
    }

    private void borrowOnce(PgStewardDataSource dataSource) {
      try {
        dataSource.getConnection().close();
      } catch (SQLException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static String unusedCoordinator() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return "http://127.0.0.1:" + socket.getLocalPort();
    }
  }
}
