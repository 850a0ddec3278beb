package io.pgsteward.server.config;

import io.pgsteward.model.InstanceId;
import io.pgsteward.model.TenantPolicy;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * One PostgreSQL server as the file describes it. Immutable.
 *
 * @param id its name in the file
 * @param url a pgjdbc URL with a database, which holds the leader's lock; no password in it
 * @param server host, port and database of the URL, for people
 * @param user the coordinator's own role
 * @param password its password; null when PostgreSQL asks for none
 * @param margin connections kept free
 * @param enforcement whether role limits are used
 * @param otherwise the policy of a tenant that no entry matches; null: it is refused
 * @param tenants policies by a tenant's text, or by a pattern with {@code *}
 * @param foreign roles that are never managed, or patterns with {@code *}
 */
public record InstanceConfig(
    InstanceId id,
    String url,
    String server,
    String user,
    @Nullable Secret password,
    int margin,
    Enforcement enforcement,
    @Nullable TenantPolicy otherwise,
    Map<String, TenantPolicy> tenants,
    List<String> foreign) {

  public InstanceConfig {
    tenants = Collections.unmodifiableMap(new LinkedHashMap<>(tenants));
    foreign = List.copyOf(foreign);
  }

  /** User and password as pgjdbc takes them. A new object for each call. */
  public Properties credentials() {
    Properties properties = new Properties();
    properties.setProperty("user", user);
    if (password != null) {
      properties.setProperty("password", password.reveal());
    }
    return properties;
  }
}
