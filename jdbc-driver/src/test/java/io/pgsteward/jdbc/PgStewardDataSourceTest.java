package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.zaxxer.hikari.HikariDataSource;
import io.pgsteward.testing.NoThreadsLeft;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.Properties;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What needs no PostgreSQL. */
@ExtendWith(NoThreadsLeft.class)
class PgStewardDataSourceTest {

  private final PgStewardDataSource dataSource = new PgStewardDataSource();

  @AfterEach
  void close() {
    dataSource.close();
  }

  private static PgStewardConfig config() {
    return PgStewardConfig.builder()
        .jdbcUrl("jdbc:pgsteward://h/shop?user=web&password=hush")
        .connectionTimeout(Duration.ofMillis(1500))
        .build();
  }

  @Nested
  class As_a_bean {

    @Test
    void it_takes_every_setting_under_hikaris_names_in_milliseconds() {
      dataSource.setJdbcUrl("jdbc:pgsteward://h/shop");
      dataSource.setUsername("web");
      dataSource.setPassword("hush");
      dataSource.setCoordinator("http://c:7432");
      dataSource.setCoordinatorToken("hush");
      dataSource.setInstance("main");
      dataSource.setTenant("batch");
      dataSource.setFallbackSlots(3);
      dataSource.setMaxWaiters(100);
      dataSource.setMaximumPoolSize(7);
      dataSource.setConnectionTimeout(5_000);
      dataSource.setValidationTimeout(2_000);
      dataSource.setVanishedClientTimeout(20_000);
      dataSource.setMaxLifetime(600_000);
      dataSource.setKeepaliveTime(60_000);
      dataSource.setIdleTimeout(30_000);
      dataSource.setLeakDetectionThreshold(9_000);
      dataSource.setAutoCommit(false);
      dataSource.setReadOnly(true);
      dataSource.setTransactionIsolation("TRANSACTION_SERIALIZABLE");
      dataSource.setSchema("app");
      dataSource.setConnectionInitSql("SELECT 1");
      dataSource.setPoolName("shop");
      dataSource.addDataSourceProperty("ApplicationName", "shop-web");
      Properties more = new Properties();
      more.setProperty("prepareThreshold", "3");
      dataSource.setDataSourceProperties(more);

      TenantSnapshot snapshot = dataSource.snapshot();
      assertThat(snapshot.tenant()).isEqualTo("web@shop/batch");
      assertThat(snapshot.poolName()).isEqualTo("shop");
      assertThat(snapshot.cap()).isEqualTo(7);
      assertThat(dataSource.settings())
          .isEqualTo(
              PgStewardConfig.builder()
                  .jdbcUrl(
                      "jdbc:pgsteward://h/shop?user=web&password=hush&coordinator=http://c:7432"
                          + "&coordinatorToken=hush&instance=main&tenant=batch&fallbackSlots=3"
                          + "&maxWaiters=100&maximumPoolSize=7&connectionTimeout=5s"
                          + "&validationTimeout=2s&vanishedClientTimeout=20s&maxLifetime=10m&keepaliveTime=1m"
                          + "&idleTimeout=30s&leakDetectionThreshold=9s&autoCommit=false"
                          + "&readOnly=true&transactionIsolation=8&schema=app"
                          + "&connectionInitSql=SELECT+1&poolName=shop&ApplicationName=shop-web"
                          + "&prepareThreshold=3")
                  .build());
    }

    @Test
    void it_takes_hikaris_and_jdbcs_other_names_too() {
      dataSource.setUrl("jdbc:postgresql://h/shop");
      dataSource.setUser("web");
      assertThat(dataSource.snapshot().tenant()).isEqualTo("web@shop");
    }

    @Test
    void it_tells_every_problem_with_the_first_connection() {
      dataSource.setMaxLifetime(1);
      dataSource.setFallbackSlots(-1);
      SQLException error = catchThrowableOfType(SQLException.class, dataSource::getConnection);
      assertThat((Throwable) error)
          .hasMessageContainingAll("url is missing", "maxLifetime", "fallbackSlots");
      assertThat(error.getSQLState()).isEqualTo("08001");
    }
  }

  @Nested
  class Once_sealed {

    private final PgStewardDataSource sealed = new PgStewardDataSource(config());

    @AfterEach
    void close() {
      sealed.close();
    }

    @Test
    void it_refuses_other_settings_with_a_hint() {
      assertThatThrownBy(() -> sealed.setMaximumPoolSize(5))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll("sealed", "what the coordinator grants");
    }

    @Test
    void it_lets_the_login_timeout_change() throws SQLException {
      assertThat(sealed.getLoginTimeout()).isEqualTo(2);
      sealed.setLoginTimeout(5);
      assertThat(sealed.getLoginTimeout()).isEqualTo(5);
      sealed.setLoginTimeout(0);
      assertThat(sealed.getLoginTimeout()).isZero();
      assertThatThrownBy(() -> sealed.setLoginTimeout(-1)).isInstanceOf(SQLException.class);
    }

    @Test
    void it_shows_no_secret() {
      assertThat(sealed.toString()).contains("web@shop").doesNotContain("hush");
    }

    @Test
    void it_refuses_the_credentials_of_another_role() {
      assertThatThrownBy(() -> sealed.getConnection("admin", "hush"))
          .isInstanceOf(SQLFeatureNotSupportedException.class)
          .hasMessageContainingAll("web@shop", "user admin")
          .message()
          .doesNotContain("hush");
      assertThatThrownBy(() -> sealed.getConnection("web", "other"))
          .isInstanceOf(SQLFeatureNotSupportedException.class);
    }
  }

  @Test
  void login_timeout_is_the_connection_timeout_before_the_start_too() throws SQLException {
    assertThat(dataSource.getLoginTimeout()).isEqualTo(30);
    dataSource.setLoginTimeout(7);
    assertThat(dataSource.getLoginTimeout()).isEqualTo(7);
  }

  @Test
  void a_closed_one_says_so() {
    dataSource.setJdbcUrl("jdbc:pgsteward://h/shop?user=web");
    dataSource.close();
    dataSource.close();
    assertThat(dataSource.isClosed()).isTrue();
    SQLException error = catchThrowableOfType(SQLException.class, dataSource::getConnection);
    assertThat(error.getSQLState()).isEqualTo("08003");
    assertThat((Throwable) error).hasMessageContaining("is closed");
    assertThatThrownBy(() -> dataSource.setUser("x")).hasMessageContaining("is closed");
  }

  @Test
  void it_unwraps_to_itself_and_never_to_hikari() throws SQLException {
    assertThat(dataSource.isWrapperFor(PgStewardDataSource.class)).isTrue();
    assertThat(dataSource.unwrap(DataSource.class)).isSameAs(dataSource);
    assertThat(dataSource.isWrapperFor(HikariDataSource.class)).isFalse();
    assertThatThrownBy(() -> dataSource.unwrap(HikariDataSource.class))
        .isInstanceOf(SQLException.class)
        .hasMessageContainingAll("HikariDataSource", "is granted");
    assertThatThrownBy(() -> dataSource.unwrap(String.class)).isInstanceOf(SQLException.class);
  }

  @Test
  void it_has_no_log_writer() throws SQLException {
    assertThat(dataSource.getLogWriter()).isNull();
    dataSource.setLogWriter(null);
    assertThatThrownBy(() -> dataSource.setLogWriter(new PrintWriter(new StringWriter())))
        .isInstanceOf(SQLFeatureNotSupportedException.class);
    assertThatThrownBy(dataSource::getParentLogger)
        .isInstanceOf(SQLFeatureNotSupportedException.class);
  }

  @Test
  void a_snapshot_does_not_start_it() {
    dataSource.setJdbcUrl("jdbc:pgsteward://h/shop?user=web");
    TenantSnapshot snapshot = dataSource.snapshot();
    assertThat(snapshot.held()).isZero();
    assertThat(snapshot.coordinator().address()).isEqualTo("local");
    dataSource.setUser("still open to change");
  }
}
