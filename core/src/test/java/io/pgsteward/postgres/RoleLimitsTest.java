package io.pgsteward.postgres;

import io.pgsteward.testing.PostgresServer;
import io.pgsteward.testing.TestPostgres;
import org.junit.jupiter.api.Tag;

/** On the PostgreSQL of all tests. */
@Tag("postgres")
class RoleLimitsTest extends RoleLimitsOnPostgres {

  @Override
  PostgresServer server() {
    return TestPostgres.shared();
  }
}
