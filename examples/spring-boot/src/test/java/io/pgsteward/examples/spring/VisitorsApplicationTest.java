package io.pgsteward.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

@Tag("postgres")
@ExtendWith(NoThreadsLeft.class)
class VisitorsApplicationTest {

  private PostgresServer postgres;
  private TestRole web;
  private String database;

  @BeforeEach
  void start() throws SQLException {
    postgres = TestPostgres.shared();
    web = postgres.createRole("web");
    database = postgres.createDatabase("shop");
    postgres.executeIn(
        database,
        "CREATE TABLE visitor (name text NOT NULL)",
        "GRANT SELECT, INSERT ON visitor TO " + PostgresServer.quoted(web.name()));
  }

  @Test
  void the_data_source_is_a_bean_like_any_other() {
    try (ConfigurableApplicationContext application = run()) {
      assertThat(application.getBean(DataSource.class)).isInstanceOf(PgStewardDataSource.class);
      Visitors visitors = application.getBean(Visitors.class);
      assertThat(visitors.arrive("Ada")).isEqualTo(1);
      assertThat(visitors.arrive("Grace")).isEqualTo(2);
      assertThatThrownBy(() -> visitors.arrive(" ")).isInstanceOf(IllegalArgumentException.class);
      assertThat(visitors.count()).as("the third was rolled back").isEqualTo(2);
    }
  }

  @Test
  void closing_the_application_closes_the_data_source() {
    PgStewardDataSource dataSource;
    try (ConfigurableApplicationContext application = run()) {
      dataSource = application.getBean(PgStewardDataSource.class);
      assertThat(application.getBean(Visitors.class).count()).isZero();
    }
    assertThat(dataSource.isClosed()).isTrue();
  }

  private ConfigurableApplicationContext run() {
    return SpringApplication.run(
        VisitorsApplication.class,
        "--shop.datasource.jdbc-url=jdbc:pgsteward://"
            + postgres.host()
            + ":"
            + postgres.port()
            + "/"
            + database,
        "--shop.datasource.username=" + web.name(),
        "--shop.datasource.password=" + web.password(),
        "--shop.datasource.coordinator=local");
  }
}
