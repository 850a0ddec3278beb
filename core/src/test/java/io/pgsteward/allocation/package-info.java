/** Tests of the allocation: the design's vectors as tables, rotation, and random claims. */
@NullMarked
package io.pgsteward.allocation;

import org.jspecify.annotations.NullMarked;
