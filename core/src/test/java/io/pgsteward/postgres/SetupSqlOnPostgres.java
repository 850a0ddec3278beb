package io.pgsteward.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The SQL that sets role limits up and takes them back, the same on every version. */
@Timeout(120)
abstract class SetupSqlOnPostgres extends LimitsOnPostgres {

  @Test
  void the_setup_run_again_keeps_what_was_adopted_and_replaces_who_is_managed()
      throws SQLException {
    setUpFunctions();
    limits().set(Map.of(web.name(), 5));
    setUpFunctions();
    policies = policies("agent*@*");
    setUpFunctions();

    assertThat(limits().adopted()).isEqualTo(Map.of(web.name(), -1));
    assertThat(seen(web).alterable()).isFalse();
    assertThat(seen(agent).alterable()).isTrue();
    limits().release(List.of(web.name()));
    assertThat(limit(web)).as("no longer managed, but released").isEqualTo(-1);
  }

  @Test
  void others_cannot_use_the_functions_or_write_the_tables() throws SQLException {
    setUpFunctions();
    try (Connection stranger = postgres.connect(database, web);
        Statement statement = stranger.createStatement()) {
      assertThat(RoleLimits.over(stranger).rights()).isEqualTo(LimitRights.NONE);
      assertThatThrownBy(
              () ->
                  statement.execute(
                      "SELECT pgsteward.set_connection_limits(ARRAY["
                          + literal(web.name())
                          + "]::name[], ARRAY[100])"))
          .hasMessageContaining("permission denied");
    }
    try (Statement statement = connection.createStatement()) {
      assertThatThrownBy(() -> statement.execute("DELETE FROM pgsteward.adopted"))
          .hasMessageContaining("permission denied");
      assertThatThrownBy(
              () -> statement.execute("INSERT INTO pgsteward.managed VALUES ('pattern', '.*')"))
          .hasMessageContaining("permission denied");
    }
  }

  @Test
  void a_schema_that_somebody_else_made_is_not_trusted() throws SQLException {
    postgres.executeIn(
        database,
        "GRANT CREATE ON DATABASE " + database + " TO " + web.name(),
        "CREATE SCHEMA pgsteward AUTHORIZATION " + web.name());

    assertThatThrownBy(() -> setUpFunctions())
        .hasMessageContaining("schema pgsteward belongs to " + web.name());
    assertThat(limits().rights()).isEqualTo(LimitRights.NONE);
  }

  @Test
  void the_setup_can_be_run_twice() throws SQLException {
    String sql = SetupSql.byCreateRole(version, coordinator.name(), List.of(web.name()));
    run(sql);
    limits().set(Map.of(web.name(), 5));
    run(sql);

    assertThat(limits().adopted()).isEqualTo(Map.of(web.name(), -1));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void undo_leaves_nothing(boolean createRole) throws SQLException {
    List<String> managed = List.of(web.name(), agent.name());
    run(
        createRole
            ? SetupSql.byCreateRole(version, coordinator.name(), managed)
            : SetupSql.byFunction(version, coordinator.name(), policies.managedRoles()));
    limits().set(Map.of(web.name(), 5));
    limits().release(List.of(web.name()));
    String undo = SetupSql.undo(version, coordinator.name(), managed);
    run(undo);
    run(undo);

    assertThat(limits().rights()).isEqualTo(LimitRights.NONE);
    String own = "(SELECT oid FROM pg_roles WHERE rolname = " + literal(coordinator.name()) + ")";
    assertThat(number("SELECT count(*) FROM pg_auth_members WHERE member = " + own)).isZero();
    assertThat(number("SELECT count(*) FROM pg_shdepend WHERE refobjid = " + own)).isZero();
    assertThat(number("SELECT count(*) FROM pg_namespace WHERE nspname = 'pgsteward'")).isZero();
    assertThat(number("SELECT count(*) FROM pg_roles WHERE rolcreaterole AND oid = " + own))
        .isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a\"b; drop role x",
        "new\nline; DROP ROLE x",
        "carriage\rreturn; DROP ROLE x",
        "it's",
        "caf\u00e9 \ud83d\ude00",
        "$pgsteward$; --",
        "back\\slash",
        "100%s {a,b} [c] (d) .*",
        "-- comment",
        "@/*%"
      })
  void a_role_may_have_any_name_and_so_may_the_coordinator(String text) throws SQLException {
    TestRole hostile = postgres.createRoleNamed(postgres.newName(text), "");
    TestRole other = postgres.createRoleNamed(postgres.newName("c" + text), "");
    String entry = TenantId.of(hostile.name(), "shop").toString();
    PolicyBook book =
        PolicyBook.builder()
            .ownRole(other.name())
            .tenant(entry, TenantPolicy.DEFAULT)
            .tenant(entry.replaceFirst("_[^_]*@shop", "*@*"), TenantPolicy.DEFAULT)
            .build();
    for (boolean createRole : List.of(false, true)) {
      run(
          createRole
              ? SetupSql.byCreateRole(version, other.name(), List.of(hostile.name()))
              : SetupSql.byFunction(version, other.name(), book.managedRoles()));
      try (Connection own = postgres.connect(database, other)) {
        RoleLimits limits = RoleLimits.over(own);
        assertThat(limits.rights())
            .isEqualTo(createRole ? LimitRights.CREATEROLE : LimitRights.FUNCTION);
        limits.set(Map.of(hostile.name(), 4));
        assertThat(limit(hostile)).isEqualTo(4);
        limits.release(List.of(hostile.name()));
        assertThat(limit(hostile)).isEqualTo(-1);
      }
      run(SetupSql.undo(version, other.name(), List.of(hostile.name())));
    }
  }
}
