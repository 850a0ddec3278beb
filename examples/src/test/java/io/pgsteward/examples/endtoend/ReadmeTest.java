package io.pgsteward.examples.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.CoordinatorProcess;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the README shows for copying works as it stands there, but for names and addresses. */
@Tag("postgres")
class ReadmeTest {

  @TempDir private Path directory;

  @Test
  void its_java_compiles() throws Exception {
    String source =
        "import io.pgsteward.jdbc.*;\nclass Shop { void start(String password) {\n"
            + block("java")
            + "} }\n";
    JavaFileObject file =
        new SimpleJavaFileObject(URI.create("string:///Shop.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    boolean compiled =
        compiler
            .getTask(
                said,
                null,
                null,
                List.of(
                    "-proc:none",
                    "-d",
                    directory.toString(),
                    "-cp",
                    System.getProperty("java.class.path")),
                null,
                List.of(file))
            .call();
    assertThat(compiled).as(said.toString()).isTrue();
  }

  @Test
  void its_role_and_its_configuration_start_a_coordinator() throws Exception {
    PostgresServer postgres = TestPostgres.shared();
    String role = postgres.newName("pgsteward");
    String password = "as-in-the-readme";
    postgres.execute(
        block("sql")
            .replace("pgsteward", PostgresServer.quoted(role))
            .replace("'...'", "'" + password + "'"));
    int port = CoordinatorProcess.freePort();
    String yaml =
        block("yaml")
            .replace("127.0.0.1:7432", "127.0.0.1:" + port)
            .replace("db.example.com:5432", postgres.host() + ":" + postgres.port())
            .replace("user: pgsteward", "user: " + role)
            .replace("{ env: PGSTEWARD_PASSWORD }", password);
    Path file = Files.writeString(directory.resolve("pgsteward.yml"), yaml);
    try (CoordinatorProcess coordinator = CoordinatorProcess.start(file, port, line -> {})) {
      coordinator.awaitReady();
      assertThat(coordinator.instance().budget()).isNotNull();
    } finally {
      postgres.execute("DROP ROLE " + PostgresServer.quoted(role));
    }
  }

  /** The README's only block in that language. */
  private static String block(String language) throws Exception {
    Path readme = Path.of("README.md");
    if (!Files.exists(readme)) {
      readme = Path.of("..", "README.md");
    }
    Matcher blocks =
        Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(readme));
    assertThat(blocks.find()).as("a block in " + language).isTrue();
    return blocks.group(1);
  }
}
