package io.pgsteward.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.List;
import java.util.Properties;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullAndEmptySource;
import org.junit.jupiter.params.provider.ValueSource;

/** What needs no PostgreSQL. */
class PgStewardDriverTest {

  private final PgStewardDriver driver = new PgStewardDriver();

  @Test
  void the_service_loader_finds_it() {
    assertThat(ServiceLoader.load(Driver.class)).anyMatch(PgStewardDriver.class::isInstance);
  }

  @Test
  void the_driver_manager_has_it_once_for_our_urls() throws SQLException {
    assertThat(DriverManager.getDriver("jdbc:pgsteward://h/db"))
        .isInstanceOf(PgStewardDriver.class);
    assertThat(DriverManager.drivers().filter(PgStewardDriver.class::isInstance)).hasSize(1);
  }

  @ParameterizedTest
  @NullAndEmptySource
  @ValueSource(
      strings = {
        "jdbc:postgresql://h/db",
        "jdbc:mysql://h/db",
        "jdbc:pgsteward",
        "JDBC:PGSTEWARD:"
      })
  void the_urls_of_others_are_none_of_its_business(String url) throws SQLException {
    assertThat(driver.acceptsURL(url)).isFalse();
    assertThat(driver.connect(url, new Properties())).isNull();
  }

  @Test
  void a_wrong_url_of_ours_is_told_without_its_password() {
    assertThatThrownBy(() -> DriverManager.getConnection("jdbc:pgsteward://h:x/db?password=hush"))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("has the port \"x\"")
        .message()
        .doesNotContain("hush");
    assertThatThrownBy(() -> driver.connect("jdbc:pgsteward:postgresql://h/db", null))
        .hasMessageContaining("write \"jdbc:pgsteward://h/db\"");
    assertThat(PgStewardDriver.snapshots()).isEmpty();
  }

  @Test
  void a_property_that_is_no_text_is_refused_by_name() {
    Properties properties = new Properties();
    properties.put("connectionTimeout", 5);
    assertThatThrownBy(() -> driver.connect("jdbc:pgsteward://h/db", properties))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("connectionTimeout");
  }

  @Test
  void property_info_has_our_settings_and_pgjdbcs() throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("fallbackSlots", "4");
    List<DriverPropertyInfo> infos =
        List.of(
            driver.getPropertyInfo(
                "jdbc:pgsteward://h/db?tenant=batch&prepareThreshold=9", properties));
    assertThat(infos)
        .extracting(info -> info.name + "=" + info.value)
        .contains(
            "tenant=batch", "fallbackSlots=4", "connectionTimeout=30000ms", "prepareThreshold=9");
    assertThat(infos)
        .filteredOn(info -> info.name.equals("autoCommit"))
        .extracting(info -> List.of(info.choices))
        .containsExactly(List.of("true", "false"));
    assertThat(infos).allMatch(info -> info.description != null);
  }

  @Test
  void it_is_as_compliant_as_pgjdbc_and_logs_through_slf4j() {
    assertThat(driver.jdbcCompliant()).isFalse();
    assertThatThrownBy(driver::getParentLogger).isInstanceOf(SQLFeatureNotSupportedException.class);
  }
}
