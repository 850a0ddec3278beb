/** Micrometer meters. The one place that knows Micrometer, which is an optional dependency. */
@NullMarked
package io.pgsteward.jdbc.metrics;

import org.jspecify.annotations.NullMarked;
