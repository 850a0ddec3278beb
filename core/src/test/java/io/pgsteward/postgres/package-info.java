/** Tests of the leader's session on a real PostgreSQL. */
@NullMarked
package io.pgsteward.postgres;

import org.jspecify.annotations.NullMarked;
