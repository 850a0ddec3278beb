package io.pgsteward.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("postgres")
class TestPostgresTest {

  private static PostgresServer postgres;

  @BeforeAll
  static void start() {
    postgres = TestPostgres.shared();
  }

  @Test
  void all_tests_of_a_jvm_share_one_server() {
    assertThat(TestPostgres.shared()).isSameAs(postgres);
  }

  @Test
  void roles_and_databases_have_names_of_their_own() throws SQLException {
    TestRole one = postgres.createRole("web");
    TestRole other = postgres.createRole("web");
    String database = postgres.createDatabase("shop");
    assertThat(one.name()).startsWith("web_").isNotEqualTo(other.name());
    try (Connection connection = postgres.connect(database, one)) {
      assertThat(text(connection, "SELECT current_user || '@' || current_database()"))
          .isEqualTo(one.name() + "@" + database);
    }
  }

  @Test
  void passwords_are_checked() throws SQLException {
    TestRole role = postgres.createRole("web");
    assertThatThrownBy(() -> postgres.connect("postgres", new TestRole(role.name(), "wrong")))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("password authentication failed");
  }

  @Test
  void a_server_of_its_own_has_the_given_settings_and_is_gone_after_close() throws Exception {
    PostgresServer own =
        TestPostgres.with("max_connections", "17")
            .and("superuser_reserved_connections", "2")
            .start();
    try (own;
        Connection connection = own.connect()) {
      assertThat(text(connection, "SHOW max_connections")).isEqualTo("17");
      assertThat(text(connection, "SHOW superuser_reserved_connections")).isEqualTo("2");
      assertThat(Files.readString(own.log())).contains("connection authorized: user=postgres");
    }
    assertThatThrownBy(own::connect).hasMessageContaining("refused");
    assertThat(own.log()).doesNotExist();
  }

  private static String text(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      result.next();
      return result.getString(1);
    }
  }
}
