package io.pgsteward.postgres;

import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** On another version, if there is one. */
@Tag("postgres")
class RoleLimitsOnFurtherPostgresTest extends RoleLimitsOnPostgres {

  /** Here, so that the class is skipped as a whole. */
  @BeforeAll
  static void start() {
    TestPostgres.further();
  }

  @Override
  PostgresServer server() {
    return TestPostgres.further();
  }
}
