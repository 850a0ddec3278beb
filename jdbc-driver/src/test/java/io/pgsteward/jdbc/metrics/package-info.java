/** The meters, read as a registry reads them. */
@NullMarked
package io.pgsteward.jdbc.metrics;

import org.jspecify.annotations.NullMarked;
