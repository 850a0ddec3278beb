/** Who gets how many of the budget's slots. Pure functions of integers; no clock, no I/O. */
@NullMarked
package io.pgsteward.allocation;

import org.jspecify.annotations.NullMarked;
