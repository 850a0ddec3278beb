/** What is asked of PostgreSQL and told to it. */
@NullMarked
package io.pgsteward.postgres;

import org.jspecify.annotations.NullMarked;
