package io.pgsteward.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.model.Ticker;
import io.pgsteward.testing.Await;
import io.pgsteward.testing.TestRole;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Role limits, the same on every version of PostgreSQL. */
@Timeout(120)
abstract class RoleLimitsOnPostgres extends LimitsOnPostgres {

  private static final String FORBIDDEN = "42501";

  @Nested
  class by_functions {

    @Test
    void a_role_without_createrole_sets_limits_of_managed_roles() throws SQLException {
      setUpFunctions();
      limitBy(agent.name(), 40);

      assertThat(limits().rights()).isEqualTo(LimitRights.FUNCTION);
      limits().set(Map.of(web.name(), 5, agent.name(), 0));

      assertThat(limit(web)).isEqualTo(5);
      assertThat(limit(agent)).isZero();
      assertThat(seen(web)).isEqualTo(new LoginRole(web.name(), false, 5, true));
      assertThat(limits().adopted()).isEqualTo(Map.of(web.name(), -1, agent.name(), 40));
    }

    @Test
    void the_function_and_the_configuration_agree_on_who_is_managed() throws SQLException {
      setUpFunctions();

      assertThat(limits().roles())
          .allSatisfy(
              role ->
                  assertThat(role.alterable())
                      .as(role.toString())
                      .isEqualTo(
                          !role.superuser() && policies.manages(role.name(), role.superuser())))
          .filteredOn(LoginRole::alterable)
          .extracting(LoginRole::name)
          .contains(web.name(), agent.name())
          .doesNotContain(coordinator.name(), monitor.name(), boss.name());
    }

    @Test
    void a_default_manages_all_but_foreign_roles_superusers_and_the_coordinator()
        throws SQLException {
      policies =
          PolicyBook.builder()
              .ownRole(coordinator.name())
              .foreign(monitor.name())
              .defaultPolicy(TenantPolicy.DEFAULT)
              .build();
      setUpFunctions();

      assertThat(limits().roles())
          .allSatisfy(
              role ->
                  assertThat(role.alterable())
                      .as(role.toString())
                      .isEqualTo(policies.manages(role.name(), role.superuser())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"foreign", "superuser", "own", "unknown", "unmanaged", "group"})
    void any_other_role_is_refused_and_nothing_changes(String kind) throws SQLException {
      setUpFunctions();
      TestRole unmanaged = postgres.createRole("stranger");
      String group = postgres.newName("agent_group");
      postgres.execute("CREATE ROLE " + group);
      String other =
          switch (kind) {
            case "foreign" -> monitor.name();
            case "superuser" -> boss.name();
            case "own" -> coordinator.name();
            case "unmanaged" -> unmanaged.name();
            case "group" -> group;
            default -> "agent_that_is_not_there";
          };
      Map<String, Integer> changes = new LinkedHashMap<>();
      changes.put(web.name(), 5);
      changes.put(other, 5);

      assertThatThrownBy(() -> limits().set(changes))
          .isInstanceOfSatisfying(
              SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo(FORBIDDEN))
          .hasMessageContaining("role " + other + " is not managed");

      assertThat(limit(web)).isEqualTo(-1);
      assertThat(limits().adopted()).isEmpty();
      postgres.execute("DROP ROLE " + group);
    }

    @Test
    void a_managed_role_is_not_set_free_by_a_limit_of_minus_1() throws SQLException {
      setUpFunctions();
      limits().set(Map.of(web.name(), 5));

      assertThatThrownBy(() -> limits().set(Map.of(web.name(), -1)))
          .hasMessageContaining("not a connection limit");
      assertThat(limit(web)).isEqualTo(5);
    }

    @Test
    void the_limit_from_before_is_remembered_once_and_put_back_and_forgotten() throws SQLException {
      setUpFunctions();
      limitBy(web.name(), 40);
      limits().set(Map.of(web.name(), 5));
      limits().set(Map.of(web.name(), 7, agent.name(), 1));

      assertThat(limits().adopted()).isEqualTo(Map.of(web.name(), 40, agent.name(), -1));
      limits().release(List.of(web.name(), agent.name(), monitor.name()));

      assertThat(limit(web)).isEqualTo(40);
      assertThat(limit(agent)).isEqualTo(-1);
      assertThat(limits().adopted()).isEmpty();
    }

    @Test
    void a_role_that_is_gone_is_forgotten() throws SQLException {
      setUpFunctions();
      limits().set(Map.of(web.name(), 5, agent.name(), 6));
      postgres.execute("DROP ROLE " + agent.name());

      limits().release(List.of(web.name(), agent.name()));

      assertThat(limit(web)).isEqualTo(-1);
      assertThat(limits().adopted()).isEmpty();
      postgres.execute("CREATE ROLE " + agent.name());
    }

    @Test
    void names_of_our_own_in_the_search_path_change_nothing() throws SQLException {
      setUpFunctions();
      try (Statement statement = connection.createStatement()) {
        statement.execute(
            "CREATE TEMP TABLE pg_roles AS SELECT 'x'::name AS rolname, true AS rolcanlogin,"
                + " false AS rolsuper, 1 AS rolconnlimit");
        statement.execute("SET search_path = pg_temp, pg_catalog");
      }
      assertThatThrownBy(() -> limits().set(Map.of(boss.name(), 1)))
          .hasMessageContaining("is not managed");
      limits().set(Map.of(web.name(), 2));
      assertThat(limit(web)).isEqualTo(2);
    }
  }

  @Nested
  class by_createrole {

    @Test
    void with_what_the_setup_grants_limits_are_set_and_released() throws SQLException {
      run(SetupSql.byCreateRole(version, coordinator.name(), List.of(web.name(), agent.name())));
      limitBy(agent.name(), 9);

      assertThat(limits().rights()).isEqualTo(LimitRights.CREATEROLE);
      assertThat(seen(web).alterable()).isTrue();
      assertThat(seen(boss).alterable()).isFalse();
      limits().set(Map.of(web.name(), 5));
      limits().set(Map.of(web.name(), 6, agent.name(), 2));

      assertThat(limit(web)).isEqualTo(6);
      assertThat(limits().adopted()).isEqualTo(Map.of(web.name(), -1, agent.name(), 9));
      limits().release(List.of(web.name(), agent.name()));
      assertThat(limit(web)).isEqualTo(-1);
      assertThat(limit(agent)).isEqualTo(9);
      assertThat(limits().adopted()).isEmpty();
    }

    @Test
    void a_role_that_is_gone_is_forgotten_and_the_others_are_released() throws SQLException {
      run(SetupSql.byCreateRole(version, coordinator.name(), List.of(web.name(), agent.name())));
      limits().set(Map.of(web.name(), 5, agent.name(), 6));
      postgres.execute("DROP ROLE " + agent.name());

      assertThat(limits().releaseAll()).isEqualTo(Map.of(web.name(), -1));

      assertThat(limit(web)).isEqualTo(-1);
      assertThat(limits().adopted()).isEmpty();
      postgres.execute("CREATE ROLE " + agent.name());
    }

    @Test
    void from_16_on_a_role_without_admin_is_out_of_reach_and_before_it_is_not()
        throws SQLException {
      run(SetupSql.byCreateRole(version, coordinator.name(), List.of(web.name())));

      assertThat(seen(agent).alterable()).isEqualTo(version < 16);
      Map<String, Integer> both = new LinkedHashMap<>();
      both.put(web.name(), 3);
      both.put(agent.name(), 3);
      if (version < 16) {
        limits().set(both);
        assertThat(limit(agent)).isEqualTo(3);
      } else {
        assertThatThrownBy(() -> limits().set(both)).hasMessageContaining("permission denied");
        assertThat(limit(web)).as("all or nothing").isEqualTo(-1);
        assertThat(limits().adopted()).isEmpty();
      }
    }

    @Test
    void before_16_a_role_with_replication_is_out_of_reach() throws SQLException {
      Assumptions.assumeTrue(version < 16, "PostgreSQL 16 asks for ADMIN instead");
      run(SetupSql.byCreateRole(version, coordinator.name(), List.of()));
      postgres.execute("ALTER ROLE " + agent.name() + " REPLICATION");

      assertThat(seen(agent).alterable()).isFalse();
      assertThatThrownBy(() -> limits().set(Map.of(agent.name(), 3))).isNotNull();
    }

    @Test
    void createrole_without_the_table_of_old_limits_is_no_right() throws SQLException {
      postgres.execute("ALTER ROLE " + coordinator.name() + " CREATEROLE");

      assertThat(limits().rights()).isEqualTo(LimitRights.NONE);
    }
  }

  @Test
  void without_rights_nothing_is_changed_and_the_error_says_what_to_do() throws SQLException {
    assertThat(limits().rights()).isEqualTo(LimitRights.NONE);
    assertThat(limits().adopted()).isEmpty();
    assertThat(seen(web).alterable()).isFalse();
    assertThatThrownBy(() -> limits().set(Map.of(web.name(), 1)))
        .hasMessageContaining("setup-sql")
        .isInstanceOfSatisfying(
            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo(FORBIDDEN));
    assertThat(limit(web)).isEqualTo(-1);
  }

  @Test
  void rights_that_come_and_go_are_noticed_at_the_next_look() throws SQLException {
    RoleLimits limits = limits();
    assertThat(limits.look(Ticker.system()).rights()).isEqualTo(LimitRights.NONE);

    setUpFunctions();
    assertThat(limits.look(Ticker.system()).rights()).isEqualTo(LimitRights.FUNCTION);
    limits.set(Map.of(web.name(), 4));
    for (int i = 0; i < 10; i++) {
      assertThat(limits.look(Ticker.system()).rights()).isEqualTo(LimitRights.FUNCTION);
    }

    run(SetupSql.undo(version, coordinator.name(), List.of(web.name())));
    assertThat(limits.look(Ticker.system()).rights()).isEqualTo(LimitRights.NONE);
    run(SetupSql.byCreateRole(version, coordinator.name(), List.of(web.name())));
    assertThat(limits.look(Ticker.system()).rights()).isEqualTo(LimitRights.CREATEROLE);
  }

  @Test
  void another_hands_change_of_the_same_role_is_waited_for_and_survived() throws Exception {
    setUpFunctions();
    try (Connection other = postgres.connect();
        Statement statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("ALTER ROLE " + web.name() + " CONNECTION LIMIT 70");
      RoleLimits limits = limits();
      CompletableFuture<Void> ours =
          CompletableFuture.runAsync(
              () -> {
                try {
                  limits.set(Map.of(web.name(), 3));
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      Await.until(
          "our change waits",
          Duration.ofSeconds(20),
          () -> {
            assertThat(ours).isNotDone();
            return waiting() == 1;
          });
      other.commit();
      ours.get(20, TimeUnit.SECONDS);
    }
    assertThat(limit(web)).isEqualTo(3);
    assertThat(limits().adopted()).as("the limit of the other hand").containsEntry(web.name(), 70);
  }

  private int waiting() {
    try {
      return number(
          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = "
              + literal(coordinator.name()));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void two_sessions_that_change_one_role_at_once_both_succeed() throws Exception {
    run(SetupSql.byCreateRole(version, coordinator.name(), List.of(web.name())));
    List<CompletableFuture<Void>> both =
        List.of(CompletableFuture.runAsync(this::change), CompletableFuture.runAsync(this::change));
    for (CompletableFuture<Void> one : both) {
      one.get(60, TimeUnit.SECONDS);
    }
    assertThat(limits().adopted()).isEqualTo(Map.of(web.name(), -1));
  }

  private void change() {
    try (Connection own = postgres.connect(database, coordinator)) {
      RoleLimits limits = RoleLimits.over(own);
      for (int i = 0; i < 50; i++) {
        limits.set(Map.of(web.name(), i));
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
