package io.pgsteward.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantId;
import io.pgsteward.model.TenantPolicy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ConfigLoaderTest {

  private static final Map<String, String> ENVIRONMENT =
      Map.of("PGSTEWARD_PASSWORD", "s3cret-of-db", "SHOP_TOKEN", "shop-token", "EMPTY", "");

  @TempDir Path directory;

  private Path file(String text) throws IOException {
    return Files.writeString(directory.resolve("pgsteward.yml"), text);
  }

  private ServerConfig load(String text) throws Exception {
    return new ConfigLoader(ENVIRONMENT).load(file(text));
  }

  private List<String> problems(String text) throws IOException {
    return problems(file(text));
  }

  private List<String> problems(Path file) {
    ConfigException refused =
        catchThrowableOfType(ConfigException.class, () -> new ConfigLoader(ENVIRONMENT).load(file));
    assertThat(refused).as("the file must be refused").isNotNull();
    return refused.problems().stream().map(p -> p.in("f")).toList();
  }

  private static final String MAIN =
      """
      instances:
        main:
          url: jdbc:postgresql://127.0.0.1:5432/postgres
          user: pgsteward
          default: {}
      """;

  @Nested
  class A_right_file {

    @Test
    void with_every_field_is_read_as_written() throws Exception {
      Files.writeString(directory.resolve("operator.token"), "op-token\n");
      ServerConfig config =
          load(
              """
              listen: 127.0.0.1:7433
              lease: 3s
              park: 900ms
              observe: 500ms
              instances:
                main:
                  url: jdbc:postgresql://db.example:6432/postgres
                  user: pgsteward
                  password: { env: PGSTEWARD_PASSWORD }
                  margin: 5
                  enforce: off
                  default: { guarantee: 0, weight: 2 }
                  tenants:
                    web@shop: { guarantee: 30 }
                    worker@shop/batch: { guarantee: 10, max: 80, weight: 3 }
                    "agent_*@*": { max: 5 }
                  foreign: [postgres, "monitor*"]
              tokens:
                members: [ { token: { env: SHOP_TOKEN }, tenants: [web@shop, "agent_*@*"] } ]
                operators: [ { token: { file: operator.token } } ]
              """);

      assertThat(config.listen()).isEqualTo(new ListenAddress("127.0.0.1", 7433));
      assertThat(config.lease()).isEqualTo(Duration.ofSeconds(3));
      assertThat(config.park()).isEqualTo(Duration.ofMillis(900));
      assertThat(config.observe()).isEqualTo(Duration.ofMillis(500));
      InstanceConfig main = config.instances().get(0);
      assertThat(main.id()).isEqualTo(new InstanceId("main"));
      assertThat(main.url()).isEqualTo("jdbc:postgresql://db.example:6432/postgres");
      assertThat(main.server()).isEqualTo("db.example:6432/postgres");
      assertThat(main.credentials())
          .containsEntry("user", "pgsteward")
          .containsEntry("password", "s3cret-of-db");
      assertThat(main.margin()).isEqualTo(5);
      assertThat(main.enforcement()).isEqualTo(EnforceMode.OFF);
      PolicyBook policies = main.policies();
      assertThat(policies.policyOf(TenantId.parse("web@shop")))
          .isEqualTo(new TenantPolicy(30, TenantPolicy.NO_MAX, 1));
      assertThat(policies.policyOf(TenantId.parse("worker@shop/batch")))
          .isEqualTo(new TenantPolicy(10, 80, 3));
      assertThat(policies.policyOf(TenantId.parse("agent_7@crm")))
          .isEqualTo(new TenantPolicy(0, 5, 1));
      assertThat(policies.policyOf(TenantId.parse("other@shop")))
          .isEqualTo(new TenantPolicy(0, TenantPolicy.NO_MAX, 2));
      assertThat(policies.manages("web", false)).isTrue();
      assertThat(policies.manages("postgres", false)).isFalse();
      assertThat(policies.manages("monitoring", false)).isFalse();
      assertThat(policies.manages("pgsteward", false)).as("the coordinator's own").isFalse();
      assertThat(config.tokens().members().get(0).token().reveal()).isEqualTo("shop-token");
      PolicyBook allowed = Objects.requireNonNull(config.tokens().members().get(0).allowed());
      assertThat(allowed.policyOf(TenantId.parse("web@shop"))).isNotNull();
      assertThat(allowed.policyOf(TenantId.parse("agent_1@x"))).isNotNull();
      assertThat(allowed.policyOf(TenantId.parse("worker@shop"))).isNull();
      assertThat(config.tokens().operators().get(0).reveal()).isEqualTo("op-token");
    }

    @Test
    void is_what_the_documentation_shows() throws Exception {
      Files.writeString(directory.resolve("operator.token"), "op-token\n");
      String page = Files.readString(Path.of("../docs/configuration.md"));
      int begin = page.indexOf("    listen: ");
      String shown = page.substring(begin, page.indexOf("\n\n", begin)).indent(-4);

      ServerConfig config = load(shown);

      assertThat(config.lease()).isEqualTo(Duration.ofSeconds(15));
      assertThat(config.instances().get(0).policies().exactTenants()).hasSize(2);
      assertThat(config.tokens().operators()).hasSize(1);
    }

    @Test
    void that_says_little_gets_the_defaults() throws Exception {
      ServerConfig config = load(MAIN);

      assertThat(config.listen()).hasToString("127.0.0.1:7432");
      assertThat(config.lease()).isEqualTo(Duration.ofSeconds(15));
      assertThat(config.park()).isEqualTo(Duration.ofSeconds(5));
      assertThat(config.observe()).isEqualTo(Duration.ofSeconds(1));
      assertThat(config.tokens()).isEqualTo(TokenConfig.NONE);
      InstanceConfig main = config.instances().get(0);
      assertThat(main.margin()).isEqualTo(3);
      assertThat(main.enforcement()).isEqualTo(EnforceMode.AUTO);
      assertThat(main.policies().defaultPolicy()).isEqualTo(TenantPolicy.DEFAULT);
      assertThat(main.password()).isNull();
    }

    @Test
    void with_a_short_lease_looks_and_parks_accordingly() throws Exception {
      ServerConfig config = load("lease: 1500ms\n" + MAIN);

      assertThat(config.park()).isEqualTo(Duration.ofMillis(500));
      assertThat(config.observe()).isEqualTo(Duration.ofMillis(500));
    }

    @Test
    void without_a_default_policy_leaves_other_tenants_without_one() throws Exception {
      ServerConfig config = load(MAIN.replace("default: {}", "tenants: { web@shop: {} }"));

      assertThat(config.instances().get(0).policies().defaultPolicy()).isNull();
    }

    @Test
    void may_promise_more_than_any_budget() throws Exception {
      assertThat(load(MAIN + "    tenants: { web@shop: { guarantee: 100000 } }\n").instances())
          .hasSize(1);
    }

    @Test
    void may_take_the_user_from_the_url_and_use_anchors_and_odd_names() throws Exception {
      ServerConfig config =
          load(
              """
              instances:
                main:
                  url: "jdbc:postgresql://[::1]:5433/d%20b?user=u%40x"
                  tenants:
                    "a%40b@shop": &small { max: 2 }
                    c@shop: *small
              """);

      assertThat(config.instances().get(0).user()).isEqualTo("u@x");
      PolicyBook policies = config.instances().get(0).policies();
      assertThat(policies.policyOf(new TenantId("a@b", "shop", null)))
          .isEqualTo(new TenantPolicy(0, 2, 1));
      assertThat(policies.policyOf(TenantId.of("c", "shop"))).isEqualTo(new TenantPolicy(0, 2, 1));
    }

    @Test
    void shows_no_secret_when_printed() throws Exception {
      ServerConfig config =
          load(
              MAIN
                  + "    password: hunter2\n"
                  + "tokens: { members: [ { token: mtoken } ], operators: [ { token: otoken } ] }\n");

      assertThat(config.toString()).doesNotContain("hunter2", "mtoken", "otoken");
    }

    @Test
    void strips_one_newline_from_a_secret_file_and_no_more() throws Exception {
      Files.writeString(directory.resolve("p"), " p w \n");
      ServerConfig config = load(MAIN + "    password: { file: p }\n");

      assertThat(config.instances().get(0).credentials()).containsEntry("password", " p w ");
    }
  }

  @Nested
  class A_wrong_file {

    static Stream<Arguments> mistakes() {
      return Stream.of(
          mistake("lease: 15", "lease", "must be a duration such as 250ms, 15s or 2m"),
          mistake("lease: 1 day", "lease", "must be a duration"),
          mistake("lease: 100ms", "lease", "must be from 500ms to 10m, but it is 100ms"),
          mistake("lease: [1s]", "lease", "must be a single value, but it is a list"),
          mistake("lease:", "lease", "has no value"),
          mistake("park: 6s", "park", "at most a third of the lease, but it is 6s and lease 15s"),
          mistake("observe: 6s", "observe", "at most a third of the lease, but it is 6s"),
          mistake("observe: 0s", "observe", "must be from 50ms to 10m, but it is 0s"),
          mistake("listen: 7432", "listen", "must be host:port"),
          mistake("advertise: 7432", "advertise", "must be host:port"),
          mistake("advertise: 0.0.0.0:7432", "advertise", "must name one machine and a port"),
          mistake("advertise: coordinator:0", "advertise", "must name one machine and a port"),
          mistake(
              "advertise: a-very-long-name.of-a-machine.example.com:7432",
              "advertise",
              "has 46 characters, but others learn it through PostgreSQL, which keeps 44"),
          mistake("listen: \"::1:7432\"", "listen", "must be host:port"),
          mistake("listen: localhost:99999", "listen", "a port from 0 to 65535"),
          mistake(
              "listen: 0.0.0.0:7432",
              "listen",
              "tokens.members and tokens.operators must be given"),
          mistake(
              "lisen: 127.0.0.1:1",
              "lisen",
              "is not a key here; known are advertise, instances, lease, listen"),
          mistake("tokens: { members: [ tok ] }", "tokens.members[0]", "must be a group of keys"),
          mistake("tokens: { members: [] }", "tokens.members", "is an empty list"),
          mistake("tokens: { members: [ {} ] }", "tokens.members[0].token", "is missing"),
          mistake(
              "tokens: { members: [ { token: { env: NOT_SET } } ] }",
              "tokens.members[0].token.env",
              "the environment variable NOT_SET is not set"),
          mistake(
              "tokens: { members: [ { token: { env: EMPTY } } ] }",
              "tokens.members[0].token.env",
              "is empty"),
          mistake(
              "tokens: { members: [ { token: \"a b\" } ] }",
              "tokens.members[0].token",
              "visible ASCII"),
          mistake(
              "tokens: { members: [ { token: a }, { token: a } ] }",
              "tokens.members[1].token",
              "is the same as an earlier one"),
          mistake(
              "tokens: { members: [ { token: a, tenants: [ web ] } ] }",
              "tokens.members[0].tenants[0]",
              "is role@database or role@database/label"),
          mistake(
              "tokens: { members: [ { token: a, tenants: [] } ] }",
              "tokens.members[0].tenants",
              "is an empty list"),
          mistake(
              "tokens: { operators: [ { token: { file: none.token } } ] }",
              "tokens.operators[0].token.file",
              "there is no file"),
          mistake(
              "tokens: { operators: [ { token: { file: . } } ] }",
              "tokens.operators[0].token.file",
              "is a directory"),
          mistake(
              "tokens: { operators: [ { token: { file: a, env: b } } ] }",
              "tokens.operators[0].token",
              "exactly one of env and file"));
    }

    private static Arguments mistake(String line, String path, String message) {
      return Arguments.of(line, path, message);
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void is_refused_with_line_and_path(String line, String path, String message)
        throws IOException {
      assertThat(problems("# a comment\n" + line + "\n" + MAIN))
          .singleElement()
          .asString()
          .startsWith("f:2: " + path + ": ")
          .contains(message);
    }

    static Stream<Arguments> mistakesOfAnInstance() {
      return Stream.of(
          mistake("margin: -1", "margin", "must be a whole number from 0"),
          mistake("margin: 3.5", "margin", "must be a whole number"),
          mistake("margin: 99999999999999", "margin", "must be a whole number"),
          mistake("margin: 010", "margin", "must be a whole number"),
          mistake("enforce: yes", "enforce", "must be required, auto or off, but it is \"yes\""),
          mistake(
              "password: { value: x }", "password.value", "is not a key here; known are env, file"),
          mistake("password: [x]", "password", "must be a text, {env: NAME} or {file: path}"),
          mistake("foreign: postgres", "foreign", "must be a list"),
          mistake("foreign: [ \"a%4\" ]", "foreign[0]", "hexadecimal"),
          mistake("foreign: [ {} ]", "foreign[0]", "must be a single value"),
          mistake("tenants: { web: {} }", "tenants.web", "is role@database or role@database/label"),
          mistake(
              "tenants: { web@a@b: {} }",
              "tenants.web@a@b",
              "is role@database or role@database/label"),
          mistake(
              "tenants: { \"w%4@a\": {} }",
              "tenants.w%4@a", "is role@database or role@database/label"),
          mistake("tenants: { web@shop: }", "tenants.web@shop", "has no value"),
          mistake("tenants: { web@shop: 30 }", "tenants.web@shop", "must be a group of keys"),
          mistake(
              "tenants: { web@shop: { guarantee: 30, max: 10 } }",
              "tenants.web@shop.guarantee",
              "must be at most max, but it is 30 and max is 10"),
          mistake(
              "tenants: { web@shop: { weight: 0 } }",
              "tenants.web@shop.weight",
              "must be a whole number from 1 to 1000000"),
          mistake(
              "tenants: { web@shop: { guarante: 1 } }",
              "tenants.web@shop.guarante",
              "is not a key here; known are guarantee, max, weight"),
          mistake(
              "tenants: { web@shop: {}, web@shop: {} }",
              "tenants.web@shop",
              "the key was already given on line 6"),
          mistake("user: other", "user", "the key was already given on line 4"));
    }

    @ParameterizedTest
    @MethodSource("mistakesOfAnInstance")
    void is_refused_where_an_instance_is_wrong(String line, String path, String message)
        throws IOException {
      assertThat(problems(MAIN + "    " + line + "\n"))
          .hasSizeBetween(1, 2)
          .anySatisfy(
              p ->
                  assertThat(p).startsWith("f:6: instances.main." + path + ": ").contains(message));
    }

    @Test
    void says_everything_at_once_ordered_by_line() throws IOException {
      assertThat(
              problems(
                  """
                  lease: 15
                  instances:
                    main:
                      margin: -2
                      tenants:
                        web@shop: { guarantee: 3, max: 2 }
                        web@shop: {}
                      forein: []
                    other: {}
                  lease: 3s
                  """))
          .extracting(p -> p.substring(0, p.indexOf(": ", p.indexOf(": ") + 2)))
          .containsExactly(
              "f:1: lease",
              "f:3: instances.main.url",
              "f:3: instances.main.user",
              "f:4: instances.main.margin",
              "f:6: instances.main.tenants.web@shop.guarantee",
              "f:7: instances.main.tenants.web@shop",
              "f:8: instances.main.forein",
              "f:9: instances.other.url",
              "f:9: instances.other.user",
              "f:9: instances.other.tenants",
              "f:10: lease");
    }

    @Test
    void may_not_give_one_server_to_two_instances() throws IOException {
      assertThat(
              problems(
                  MAIN
                      + "  again:\n    url: jdbc:postgresql://127.0.0.1/postgres\n"
                      + "    user: x\n    default: {}\n"))
          .singleElement()
          .asString()
          .isEqualTo("f:7: instances.again.url: is the server of main; one server has one budget");
    }

    @Test
    void may_not_call_a_tenants_role_foreign() throws IOException {
      assertThat(problems(MAIN + "    tenants: { web@shop: {} }\n    foreign: [monitor, \"w*\"]\n"))
          .singleElement()
          .asString()
          .startsWith(
              "f:6: instances.main.tenants.web@shop: role web is declared foreign by \"w*\"");
    }

    @Test
    void may_not_name_one_tenant_in_two_spellings() throws IOException {
      assertThat(problems(MAIN + "    tenants: { web@shop: {}, \"we%62@shop\": {} }\n"))
          .singleElement()
          .asString()
          .startsWith("f:6: instances.main.tenants.we%62@shop: ")
          .contains("is there twice");
    }

    @Test
    void that_names_no_instance_is_refused() throws IOException {
      assertThat(problems("lease: 3s\n"))
          .singleElement()
          .asString()
          .contains("instances: is missing");
      assertThat(problems("instances: {}\n"))
          .singleElement()
          .asString()
          .contains("names no Postgre");
      assertThat(problems(""))
          .containsExactly("f: the file is empty; it needs at least one entry under instances");
      assertThat(problems("- a\n")).singleElement().asString().contains("but it is a list");
      assertThat(problems(MAIN + "---\nlease: 3s\n"))
          .singleElement()
          .asString()
          .startsWith("f:7: a second document");
    }

    static Stream<Arguments> brokenYaml() {
      return Stream.of(
          Arguments.of("lease: 3s\n\tpark: 1s\n", 2),
          Arguments.of("a: [1\nb: 2\n", 2),
          Arguments.of("a: b: c\n", 1),
          Arguments.of("a: {b: secretpw\nc: [\n", 2));
    }

    @ParameterizedTest
    @MethodSource("brokenYaml")
    void that_is_no_yaml_is_refused_with_the_line_and_without_quoting_it(String text, int line)
        throws IOException {
      assertThat(problems(text))
          .singleElement()
          .asString()
          .startsWith("f:" + line + ": not YAML: ")
          .doesNotContain("secretpw", "\n");
    }

    @Test
    void nested_without_end_is_refused() throws IOException {
      assertThat(problems("a: " + "[".repeat(500) + "]".repeat(500) + "\n"))
          .singleElement()
          .asString()
          .contains("nested deeper than 20 levels");
    }

    @Test
    void that_cannot_be_read_is_named() throws IOException {
      assertThat(problems(directory.resolve("none.yml")))
          .singleElement()
          .asString()
          .contains("there is no such file");
      assertThat(problems(directory)).singleElement().asString().contains("is a directory");
      Path binary =
          Files.write(directory.resolve("b.yml"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});
      assertThat(problems(binary)).containsExactly("f: is not UTF-8 text");
      Path large =
          Files.write(
              directory.resolve("l.yml"), "#".repeat(2 << 20).getBytes(StandardCharsets.UTF_8));
      assertThat(problems(large)).singleElement().asString().contains("larger than 1 MB");
    }
  }
}
