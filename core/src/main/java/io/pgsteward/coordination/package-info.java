/** The coordinator as a single-writer state machine, and the control loop that runs it. */
@NullMarked
package io.pgsteward.coordination;

import org.jspecify.annotations.NullMarked;
