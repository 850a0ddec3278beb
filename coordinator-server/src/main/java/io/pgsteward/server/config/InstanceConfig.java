package io.pgsteward.server.config;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.PolicyBook;
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
 * @param policies which roles are managed, and which policy each tenant has
 * @param agreed a short hash of what all coordinators of the instance must agree on: managed and
 *     foreign roles, margin, enforcement
 */
public record InstanceConfig(
    InstanceId id,
    String url,
    String server,
    String user,
    @Nullable Secret password,
    int margin,
    EnforceMode enforcement,
    PolicyBook policies,
    String agreed) {

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
