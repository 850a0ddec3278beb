/** What things cost, each measured beside its peers where there are any. */
@NullMarked
package io.pgsteward.benchmarks;

import org.jspecify.annotations.NullMarked;
