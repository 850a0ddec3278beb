package io.pgsteward.model;

/**
 * The name by which one PostgreSQL server is known in the coordinator's configuration. Immutable.
 *
 * @param value the name; never blank
 */
public record InstanceId(String value) {

  public InstanceId {
    if (value.isBlank()) {
      throw new IllegalArgumentException("an instance needs a name, but it was blank");
    }
  }

  @Override
  public String toString() {
    return value;
  }
}
