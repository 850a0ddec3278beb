package io.pgsteward.server.config;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The whole configuration of a coordinator, valid. Immutable.
 *
 * @param listen where members and operators reach it
 * @param advertise the address that other coordinators and members are told, or null for {@code
 *     listen}
 * @param lease how long a member is believed alive without being heard
 * @param park how long a call is kept open at most; at most a third of the lease
 * @param observe how often PostgreSQL is looked at
 * @param instances at least one; no two with one name or one server and database
 * @param tokens who may ask; without any, only this machine can
 */
public record ServerConfig(
    ListenAddress listen,
    @Nullable ListenAddress advertise,
    Duration lease,
    Duration park,
    Duration observe,
    List<InstanceConfig> instances,
    TokenConfig tokens) {

  public ServerConfig {
    instances = List.copyOf(instances);
  }
}
