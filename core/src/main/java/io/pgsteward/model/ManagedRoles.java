package io.pgsteward.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which roles a {@link PolicyBook} manages, in a form that PostgreSQL can judge by itself: a role
 * that no {@code foreign} expression matches and that is {@code named}, or that a {@code patterns}
 * expression matches and is neither a superuser nor {@code own}. Immutable.
 *
 * @param named names
 * @param patterns regular expressions of PostgreSQL
 * @param foreign regular expressions of PostgreSQL
 * @param own the coordinator's own role; null if it has none
 */
public record ManagedRoles(
    List<String> named, List<String> patterns, List<String> foreign, @Nullable String own) {

  public ManagedRoles {
    named = List.copyOf(named);
    patterns = List.copyOf(patterns);
    foreign = List.copyOf(foreign);
  }
}
