package io.pgsteward.testing;

import io.pgsteward.model.PolicyBook;
import io.pgsteward.model.TenantPolicy;
import io.pgsteward.postgres.SetupSql;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Describes a coordinator for one PostgreSQL and starts it. Not thread-safe. */
public final class CoordinatorSetup {

  private final PostgresServer server;
  private final Map<String, String> tenants = new LinkedHashMap<>();
  private String host;
  private int postgresPort;
  private String lease = "3s";
  private int margin = 3;
  private @Nullable String others;
  private String more = "";
  private boolean enforced;
  private @Nullable TestRole role;
  private Consumer<String> onLine = line -> {};

  private CoordinatorSetup(PostgresServer server) {
    this.server = server;
    this.host = server.host();
    this.postgresPort = server.port();
  }

  /** A coordinator of this server, with a lease of 3 s and a margin of 3. */
  public static CoordinatorSetup of(PostgresServer server) {
    return new CoordinatorSetup(server);
  }

  /** The lease, e.g. {@code 3s}. */
  public CoordinatorSetup lease(String lease) {
    this.lease = lease;
    return this;
  }

  public CoordinatorSetup margin(int margin) {
    this.margin = margin;
    return this;
  }

  /** A tenant and its policy as in the file, e.g. {@code "{ guarantee: 30 }"}. */
  public CoordinatorSetup tenant(String tenant, String policy) {
    tenants.put(tenant, policy);
    return this;
  }

  /** The policy of tenants that are not named, as in the file; without it they are refused. */
  public CoordinatorSetup others(String policy) {
    this.others = policy;
    return this;
  }

  /** Keeps role limits, by the functions that setup-sql makes, or does not start. */
  public CoordinatorSetup enforced() {
    enforced = true;
    return this;
  }

  /** Reaches PostgreSQL through a proxy on this machine. */
  public CoordinatorSetup through(FaultProxy proxy) {
    this.host = "127.0.0.1";
    this.postgresPort = proxy.port();
    return this;
  }

  /** Further lines at the end of the file. */
  public CoordinatorSetup more(String lines) {
    this.more = lines;
    return this;
  }

  /** Who gets each line of its output. */
  public CoordinatorSetup output(Consumer<String> onLine) {
    this.onLine = onLine;
    return this;
  }

  /**
   * Writes a file for the coordinator and starts it. It is not waited for. Each one listens on a
   * port of its own; all of one setup log in as one role, made for the first.
   */
  public CoordinatorProcess start() throws SQLException {
    if (role == null) {
      role = server.createRoleNamed(server.newName("pgsteward"), "IN ROLE pg_monitor");
      if (enforced) {
        setUp(role);
      }
    }
    int port = CoordinatorProcess.freePort();
    return CoordinatorProcess.start(write(file(role, port)), port, onLine);
  }

  private void setUp(TestRole role) throws SQLException {
    PolicyBook.Builder policies = PolicyBook.builder().ownRole(role.name());
    tenants.keySet().forEach(tenant -> policies.tenant(tenant, TenantPolicy.DEFAULT));
    try (Connection connection = server.connect()) {
      int version = connection.getMetaData().getDatabaseMajorVersion();
      server.execute(SetupSql.byFunction(version, role.name(), policies.build().managedRoles()));
    }
  }

  private String file(TestRole role, int port) {
    StringBuilder yaml = new StringBuilder();
    yaml.append("listen: 127.0.0.1:").append(port).append("\nlease: ").append(lease);
    yaml.append("\ninstances:\n  main:\n    url: jdbc:postgresql://").append(host);
    yaml.append(":").append(postgresPort).append("/postgres\n    user: ").append(role.name());
    yaml.append("\n    password: \"").append(role.password()).append("\"\n    margin: ");
    yaml.append(margin)
        .append("\n    enforce: ")
        .append(enforced ? "required" : "auto")
        .append("\n");
    if (others != null) {
      yaml.append("    default: ").append(others).append("\n");
    }
    if (!tenants.isEmpty()) {
      yaml.append("    tenants:\n");
      tenants.forEach(
          (tenant, policy) ->
              yaml.append("      \"" + tenant + "\": ").append(policy).append("\n"));
    }
    return yaml.append(more).append("\n").toString();
  }

  private static Path write(String text) {
    try {
      Path file = Files.createTempFile("pgsteward-", ".yml");
      file.toFile().deleteOnExit();
      return Files.writeString(file, text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
