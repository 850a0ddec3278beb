/** The whole: drivers in processes of their own, the coordinator's jar, PostgreSQL, the witness. */
@NullMarked
package io.pgsteward.examples.endtoend;

import org.jspecify.annotations.NullMarked;
