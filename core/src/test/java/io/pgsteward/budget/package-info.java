/** Tests of the budget: the design's vectors, the window, gaps and growth. */
@NullMarked
package io.pgsteward.budget;

import org.jspecify.annotations.NullMarked;
