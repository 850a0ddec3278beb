package io.pgsteward.benchmarks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.agroal.api.security.NamePrincipal;
import io.agroal.api.security.SimplePassword;
import io.pgsteward.jdbc.PgStewardConfig;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.PostgresServer;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.apache.tomcat.jdbc.pool.PoolProperties;

/** The pools that are compared, each with at most n connections and none at the start. */
enum Pools {
  PGSTEWARD("PgSteward") {
    @Override
    DataSource open(PostgresServer server, int connections) {
      return pgsteward(server, connections);
    }
  },
  HIKARI("HikariCP") {
    @Override
    DataSource open(PostgresServer server, int connections) {
      HikariConfig config = new HikariConfig();
      config.setJdbcUrl(server.url("postgres"));
      config.setUsername(server.superuser());
      config.setPassword(server.superuserPassword());
      config.setMaximumPoolSize(connections);
      config.setMinimumIdle(0);
      config.setInitializationFailTimeout(-1);
      config.setConnectionTimeout(PATIENCE.toMillis());
      return new HikariDataSource(config);
    }
  },
  AGROAL("Agroal") {
    @Override
    DataSource open(PostgresServer server, int connections) throws SQLException {
      return AgroalDataSource.from(
          new AgroalDataSourceConfigurationSupplier()
              .connectionPoolConfiguration(
                  pool ->
                      pool.maxSize(connections)
                          .acquisitionTimeout(PATIENCE)
                          .connectionFactoryConfiguration(
                              factory ->
                                  factory
                                      .jdbcUrl(server.url("postgres"))
                                      .principal(new NamePrincipal(server.superuser()))
                                      .credential(
                                          new SimplePassword(server.superuserPassword())))));
    }
  },
  TOMCAT("tomcat-jdbc, fairQueue") {
    @Override
    DataSource open(PostgresServer server, int connections) {
      PoolProperties properties = new PoolProperties();
      properties.setDriverClassName("org.postgresql.Driver");
      properties.setUrl(server.url("postgres"));
      properties.setUsername(server.superuser());
      properties.setPassword(server.superuserPassword());
      properties.setMaxActive(connections);
      properties.setMaxIdle(connections);
      properties.setInitialSize(0);
      properties.setMinIdle(0);
      properties.setFairQueue(true);
      properties.setMaxWait((int) PATIENCE.toMillis());
      return new org.apache.tomcat.jdbc.pool.DataSource(properties);
    }
  };

  /** How long a thread waits before it counts as timed out. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  private final String title;

  Pools(String title) {
    this.title = title;
  }

  abstract DataSource open(PostgresServer server, int connections) throws SQLException;

  /** Ends a pool of whatever make. */
  static void close(DataSource pool) throws Exception {
    if (pool instanceof AutoCloseable closeable) {
      closeable.close();
    } else if (pool instanceof org.apache.tomcat.jdbc.pool.DataSource tomcat) {
      tomcat.close(true);
    }
  }

  /**
   * Ours with its slots in hand from the start: a member that has not heard its coordinator goes by
   * its fallback slots, so that no round trip is in the figure. Nobody listens at the address.
   */
  static PgStewardDataSource pgsteward(PostgresServer server, int connections) {
    return new PgStewardDataSource(
        PgStewardConfig.builder()
            .jdbcUrl(server.url("postgres"))
            .username(server.superuser())
            .password(server.superuserPassword())
            .coordinator("http://127.0.0.1:1")
            .fallbackSlots(connections)
            .connectionTimeout(PATIENCE)
            .build());
  }

  @Override
  public String toString() {
    return title;
  }
}
