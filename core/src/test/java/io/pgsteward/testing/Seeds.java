package io.pgsteward.testing;

import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives a test method a {@link Random} with a seed of its own, and adds the seed to a failure. The
 * system property {@code pgsteward.test.seed} sets it, to see a failure again. Use:
 * {@code @ExtendWith(Seeds.class)} and a parameter {@code Random random}.
 */
public final class Seeds implements ParameterResolver, AfterTestExecutionCallback {

  /** Name of the system property. */
  public static final String PROPERTY = "pgsteward.test.seed";

  private static final ExtensionContext.Namespace NAMESPACE =
      ExtensionContext.Namespace.create(Seeds.class);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Random.class;
  }

  @Override
  public Random resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Long given = Long.getLong(PROPERTY);
    long seed = given != null ? given : ThreadLocalRandom.current().nextLong();
    context.getStore(NAMESPACE).put("seed", seed);
    return new Random(seed);
  }

  @Override
  public void afterTestExecution(ExtensionContext context) {
    Object seed = context.getStore(NAMESPACE).get("seed");
    if (seed != null) {
      context
          .getExecutionException()
          .ifPresent(failure -> failure.addSuppressed(new SeedOfFailure((Long) seed)));
    }
  }

  /** Shown below the failure that it belongs to. */
  static final class SeedOfFailure extends RuntimeException {

    private static final long serialVersionUID = 1L;

    SeedOfFailure(long seed) {
      super("see it again with -D" + PROPERTY + "=" + seed, null, false, false);
    }
  }
}
