package io.pgsteward.jdbc.internal.pool;

import static io.pgsteward.jdbc.internal.pool.PoolFixture.borrow;
import static org.assertj.core.api.Assertions.assertThat;

import io.pgsteward.testing.Await;
import io.pgsteward.testing.NoThreadsLeft;
import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import io.pgsteward.testing.TestRole;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.Base64;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The wait for a backend's exit works under TLS as well. */
@Tag("postgres")
@Timeout(120)
@ExtendWith(NoThreadsLeft.class)
class TlsPostgresTest {

  private static final String PASSWORD = "changeit";

  @RegisterExtension final PoolFixture fixture = new PoolFixture();

  @Test
  void closing_and_opening_at_a_role_limit_of_one_works_under_tls(@TempDir Path directory)
      throws Exception {
    try (PostgresServer postgres = TestPostgres.own().startEmbedded()) {
      turnOnTls(postgres, directory);
      TestRole role = postgres.createRole("tls");
      postgres.execute("alter role " + PostgresServer.quoted(role.name()) + " connection limit 1");
      Properties properties = new Properties();
      properties.setProperty("user", role.name());
      properties.setProperty("password", role.password());
      properties.setProperty("sslmode", "require");
      TenantPool pool =
          fixture.pool(
              TenantPoolSettings.builder("web@shop", postgres.url("postgres"), properties)
                  .closeTimeout(Duration.ofSeconds(5))
                  .initialLimit(1));
      for (int i = 0; i < 50; i++) {
        try (Connection connection = borrow(pool);
            Statement statement = connection.createStatement();
            ResultSet rows =
                statement.executeQuery(
                    "select ssl from pg_stat_ssl where pid = pg_backend_pid()")) {
          rows.next();
          assertThat(rows.getBoolean(1)).isTrue();
          pool.limit(0);
        }
        pool.limit(1);
      }
      Await.until("closes are over", () -> pool.usage().closing() == 0);
      assertThat(pool.usage().counters().refused53300()).isZero();
      assertThat(pool.usage().counters().unconfirmedCloses()).isZero();
      assertThat(pool.usage().counters().opened()).isGreaterThanOrEqualTo(50);
    }
  }

  /** Makes a certificate and has the server itself write it into its data directory. */
  private static void turnOnTls(PostgresServer postgres, Path directory) throws Exception {
    Path store = directory.resolve("server.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "server",
                "-keyalg",
                "RSA",
                "-dname",
                "CN=localhost",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .start();
    try (InputStream output = keytool.getInputStream()) {
      String text = new String(output.readAllBytes(), StandardCharsets.UTF_8);
      assertThat(keytool.waitFor()).as(text).isZero();
    }
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    byte[] key = keys.getKey("server", PASSWORD.toCharArray()).getEncoded();
    write(postgres, "server.key", "PRIVATE KEY", key);
    write(postgres, "server.crt", "CERTIFICATE", keys.getCertificate("server").getEncoded());
    postgres.execute("alter system set ssl = on", "select pg_reload_conf()");
    TimeUnit.MILLISECONDS.sleep(200);
  }

  private static void write(PostgresServer postgres, String file, String what, byte[] content)
      throws Exception {
    String base64 =
        Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(content);
    String pem = "-----BEGIN " + what + "-----\n" + base64 + "\n-----END " + what + "-----";
    postgres.execute(
        "copy (select unnest(string_to_array('"
            + pem
            + "', E'\\n'))) to program 'umask 077; cat > "
            + file
            + "'");
  }
}
