/** Small applications that use PgSteward, and the demo. Each of them runs in the tests. */
@NullMarked
package io.pgsteward.examples;

import org.jspecify.annotations.NullMarked;
