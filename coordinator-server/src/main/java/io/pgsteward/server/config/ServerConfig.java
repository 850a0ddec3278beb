package io.pgsteward.server.config;

import java.time.Duration;
import java.util.List;

/**
 * The whole configuration of a coordinator, valid. Immutable.
 *
 * @param listen where members and operators reach it
 * @param lease how long a member is believed alive without being heard
 * @param park how long a call is kept open at most; at most a third of the lease
 * @param observe how often PostgreSQL is looked at
 * @param instances at least one; no two with one name or one server and database
 * @param tokens who may ask; without any, only this machine can
 */
public record ServerConfig(
    ListenAddress listen,
    Duration lease,
    Duration park,
    Duration observe,
    List<InstanceConfig> instances,
    TokenConfig tokens) {

  public ServerConfig {
    instances = List.copyOf(instances);
  }
}
