package io.pgsteward.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.ConnectionSource;
import io.pgsteward.postgres.PostgresLeaderSession;
import io.pgsteward.server.config.InstanceConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the commands about role limits print, change and answer. */
@Tag("postgres")
@Timeout(120)
class LimitCommandsTest {

  private static ManagedServer server;

  @TempDir Path directory;
  private Path config;

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
    config = server.config(directory);
  }

  private CommandRun run(String command, String... more) {
    String[] arguments = new String[more.length + 3];
    arguments[0] = command;
    arguments[1] = "--config";
    arguments[2] = config.toString();
    System.arraycopy(more, 0, arguments, 3, more.length);
    return CommandRun.of(arguments);
  }

  private void setUp(String... options) throws Exception {
    CommandRun run = run("setup-sql", options);
    assertThat(run.code()).as(run.err()).isZero();
    server.run(run.out());
  }

  private PostgresLeaderSession otherCoordinator() throws Exception {
    InstanceConfig instance = ManagedServer.instance(config);
    PostgresLeaderSession other =
        new PostgresLeaderSession(
            ConnectionSource.of(instance.url(), instance.credentials(), Duration.ofSeconds(5)),
            "10.0.0.7:7432",
            instance.agreed(),
            Duration.ofSeconds(15),
            Ticker.system(),
            true);
    other.lead();
    return other;
  }

  @Nested
  class Setup_sql {

    @Test
    void gives_the_rights_and_undo_takes_them_back() throws Exception {
      assertThat(run("check").out()).contains("run what setup-sql prints");
      setUp();
      assertThat(run("check").code()).isZero();
      setUp("--undo");
      assertThat(run("check").out()).contains("run what setup-sql prints");
    }

    @Test
    void gives_them_by_createrole_for_the_roles_that_are_there() throws Exception {
      CommandRun run = run("setup-sql", "--create-role");
      assertThat(run.out())
          .contains("GRANT \"web\" TO \"coordinator\" WITH ADMIN TRUE", "GRANT \"agent_1\" TO")
          .doesNotContain("\"monitor\"");
      server.run(run.out());
      assertThat(run("check").code()).isZero();
      setUp("--create-role", "--undo");
      assertThat(run("check").out()).contains("run what setup-sql prints");
    }

    @Test
    void connects_to_nothing_when_the_version_is_given() throws Exception {
      Files.writeString(
          config, Files.readString(config).replaceAll("127.0.0.1:[0-9]+", "127.0.0.1:1"));

      CommandRun older = run("setup-sql", "--server-version", "15");
      assertThat(older.code()).isZero();
      assertThat(older.out())
          .contains("CREATE OR REPLACE FUNCTION pgsteward.set_connection_limits")
          .contains("('named', 'web')")
          .doesNotContain("pg_use_reserved_connections");
      assertThat(run("setup-sql", "--server-version", "16").out())
          .contains("pg_use_reserved_connections");
      assertThat(run("setup-sql", "--server-version", "16", "--create-role").out())
          .startsWith("-- Made without a connection")
          .contains("GRANT \"web\" TO");
      assertThat(run("setup-sql", "--server-version", "12").code()).isEqualTo(2);
      CommandRun connecting = run("setup-sql");
      assertThat(connecting.code()).isEqualTo(1);
      assertThat(connecting.err()).startsWith("main: ").contains("--server-version");
    }

    @Test
    void asks_which_of_several_instances() throws Exception {
      config =
          server.config(
              directory,
              """
                other:
                  url: jdbc:postgresql://127.0.0.1:1/postgres
                  user: someone
                  default: {}
              """);
      CommandRun run = run("setup-sql");
      assertThat(run.code()).isEqualTo(2);
      assertThat(run.err()).contains("--instance: main, other");
      assertThat(run("setup-sql", "--instance", "other", "--server-version", "18").out())
          .contains("\"someone\"");
      assertThat(run("setup-sql", "--instance", "none").code()).isEqualTo(2);
    }
  }

  @Nested
  class Check {

    @Test
    void finds_nothing_when_all_is_well() throws Exception {
      setUp();

      CommandRun run = run("check");

      assertThat(run.code()).as(run.out()).isZero();
      assertThat(run.lines())
          .singleElement()
          .asString()
          .startsWith("main: nothing found: PostgreSQL ")
          .contains("3 managed roles", "budget " + ManagedServer.BUDGET);
    }

    @Test
    void names_each_role_that_is_neither_managed_nor_foreign() throws Exception {
      setUp();
      server.run("CREATE ROLE stranger LOGIN; CREATE ROLE \"Other One\" LOGIN");

      CommandRun run = run("check");

      assertThat(run.code()).isEqualTo(1);
      assertThat(run.lines())
          .hasSize(2)
          .allSatisfy(line -> assertThat(line).contains("is neither managed nor foreign"))
          .anySatisfy(line -> assertThat(line).contains("role stranger "))
          .anySatisfy(line -> assertThat(line).contains("role Other One "));
    }

    @Test
    void with_a_default_every_role_is_managed() throws Exception {
      server.run("CREATE ROLE stranger LOGIN");
      config = server.config(directory, "    default: {}\n");
      setUp();

      assertThat(run("check").code()).isZero();
    }

    @Test
    void finds_a_managed_superuser_guarantees_above_the_budget_and_a_missing_right()
        throws Exception {
      setUp();
      server.run("ALTER ROLE web SUPERUSER; REVOKE pg_monitor FROM coordinator");
      Files.writeString(config, Files.readString(config).replace("guarantee: 8", "guarantee: 30"));

      CommandRun run = run("check");

      assertThat(run.code()).isEqualTo(1);
      assertThat(run.out())
          .contains("main: managed role web is a superuser")
          .contains("main: the coordinator's role is not in pg_monitor")
          .contains("main: the guarantees add up to 46 (web 16, worker 30), more than the budget");
    }

    @Test
    void asks_for_no_right_when_enforce_is_off() throws Exception {
      config = server.config(directory, "    enforce: \"off\"\n");

      assertThat(run("check").code()).isZero();
    }

    @Test
    void of_a_server_that_is_away_ends_with_1_and_of_a_wrong_file_with_2() throws Exception {
      Files.writeString(
          config, Files.readString(config).replaceAll("127.0.0.1:[0-9]+", "127.0.0.1:1"));
      CommandRun away = run("check");
      assertThat(away.code()).isEqualTo(1);
      assertThat(away.err()).startsWith("main: ").contains("refused").doesNotContain("\tat ");

      Files.writeString(config, "lease: 15\n");
      CommandRun wrong = run("check");
      assertThat(wrong.code()).isEqualTo(2);
      assertThat(wrong.err()).contains(":1: lease: must be a duration");
    }
  }

  @Nested
  class Plan_and_apply {

    @Test
    void plan_shows_what_would_change_and_changes_nothing() throws Exception {
      setUp();
      server.connect("agent_1", 2);
      Map<String, Integer> before = server.limits();

      CommandRun run = run("plan");

      assertThat(run.code()).isEqualTo(4);
      assertThat(run.lines())
          .containsExactly(
              "main: budget 33 (max_connections 40, reserved 3, foreign now 1, margin 3)",
              "ROLE     LIMIT  PLANNED  CONNECTIONS  GUARANTEE",
              "agent_1  -            2            2          0",
              "web      -           16            0         16",
              "worker   -            8            0          8",
              "main: 3 of 3 limits would change");
      assertThat(server.limits()).isEqualTo(before);
    }

    @Test
    void plan_prints_json() throws Exception {
      setUp();

      CommandRun run = run("plan", "--json");

      assertThat(run.code()).isEqualTo(4);
      assertThat(run.lines())
          .containsExactly(
              "[{\"instance\":\"main\",\"budget\":33,\"changes\":3,\"roles\":["
                  + "{\"role\":\"agent_1\",\"planned\":0,\"connections\":0,\"guarantee\":0},"
                  + "{\"role\":\"web\",\"planned\":16,\"connections\":0,\"guarantee\":16},"
                  + "{\"role\":\"worker\",\"planned\":8,\"connections\":0,\"guarantee\":8}],"
                  + "\"obstacles\":[]}]");
    }

    @Test
    void apply_does_what_plan_shows_and_a_second_run_sends_nothing() throws Exception {
      setUp();
      server.connect("agent_1", 2);

      CommandRun first = run("apply");
      assertThat(first.code()).as(first.err()).isZero();
      assertThat(first.out())
          .contains("main: role web: limit none -> 16", "main: 3 limits set, limits add up to 26");
      assertThat(server.limits()).isEqualTo(Map.of("agent_1", 2, "web", 16, "worker", 8));

      CommandRun second = run("apply");
      assertThat(second.code()).isZero();
      assertThat(second.lines()).singleElement().asString().startsWith("main: nothing to change");
      assertThat(run("plan").code()).isZero();
    }

    @Test
    void apply_never_goes_below_what_is_in_use_and_lowers_before_it_raises() throws Exception {
      setUp();
      server.run(
          "ALTER ROLE agent_1 CONNECTION LIMIT 30; ALTER ROLE web CONNECTION LIMIT 1;"
              + " ALTER ROLE worker CONNECTION LIMIT 2");
      server.connect("agent_1", 12);

      CommandRun run = run("apply");

      assertThat(run.code()).isZero();
      Map<String, Integer> limits = server.limits();
      assertThat(limits).containsEntry("agent_1", 12);
      assertThat(limits.values().stream().mapToInt(Integer::intValue).sum()).isEqualTo(33);
      assertThat(limits).as("the same part of each guarantee").containsEntry("web", 14);
    }

    @Test
    void apply_refuses_while_another_coordinator_leads_and_names_it() throws Exception {
      setUp();
      Map<String, Integer> before = server.limits();
      try (PostgresLeaderSession other = otherCoordinator()) {
        assertThat(other.isLeading()).isTrue();
        for (String command : new String[] {"apply", "release"}) {
          CommandRun run = run(command);
          assertThat(run.code()).isEqualTo(3);
          assertThat(run.err()).startsWith("main: ").contains("10.0.0.7:7432");
        }
      }
      assertThat(server.limits()).isEqualTo(before);
    }

    @Test
    void one_role_out_of_reach_and_nothing_is_changed() throws Exception {
      setUp();
      server.run("CREATE ROLE agent_2 LOGIN SUPERUSER");
      Files.writeString(
          config,
          Files.readString(config)
              .replace("foreign: [monitor]", "")
              .replace(
                  "\"agent*@*\": { max: 5 }", "\"agent*@*\": { max: 5 }\n      monitor@shop: {}"));
      Map<String, Integer> before = server.limits();

      CommandRun run = run("apply");

      assertThat(run.code()).isEqualTo(1);
      assertThat(run.lines())
          .containsExactly(
              "main: the coordinator may not change the limit of managed role monitor; run what"
                  + " setup-sql prints again, or declare it foreign");
      assertThat(server.limits()).isEqualTo(before);
    }

    @Test
    void without_rights_plan_shows_what_apply_refuses() throws Exception {
      CommandRun plan = run("plan");
      assertThat(plan.code()).isEqualTo(4);
      assertThat(plan.out()).contains("main: apply would fail: the coordinator's role may change");

      CommandRun apply = run("apply");
      assertThat(apply.code()).isEqualTo(1);
      assertThat(apply.out()).contains("setup-sql");
    }

    @Test
    void with_enforce_off_limits_are_left_alone() throws Exception {
      setUp();
      config = server.config(directory, "    enforce: \"off\"\n");

      assertThat(run("plan").code()).isZero();
      assertThat(run("apply").out()).contains("enforce is off");
      assertThat(server.limits()).containsEntry("web", -1);
    }
  }

  @Nested
  class Release {

    @Test
    void puts_the_old_limits_back_and_says_which() throws Exception {
      setUp();
      server.run("ALTER ROLE web CONNECTION LIMIT 25");
      assertThat(run("apply").code()).isZero();

      CommandRun run = run("release");

      assertThat(run.code()).isZero();
      assertThat(run.lines())
          .containsExactly(
              "main: role agent_1: limit none put back",
              "main: role web: limit 25 put back",
              "main: role worker: limit none put back");
      assertThat(server.limits()).isEqualTo(Map.of("agent_1", -1, "web", 25, "worker", -1));
      assertThat(run("release").lines())
          .containsExactly("main: no limit was changed, so none is put back");
    }

    @Test
    void works_by_createrole_and_when_enforce_is_off() throws Exception {
      setUp("--create-role");
      assertThat(run("apply").code()).isZero();
      config = server.config(directory, "    enforce: \"off\"\n");

      assertThat(run("release").lines()).hasSize(3);
      assertThat(server.limits()).containsEntry("web", -1);
    }

    @Test
    void without_rights_ends_with_1() {
      CommandRun run = run("release");
      assertThat(run.code()).isEqualTo(1);
      assertThat(run.err()).contains("may change no connection limit");
    }
  }
}
