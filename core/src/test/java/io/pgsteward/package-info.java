/** Tests of core as a whole. */
@NullMarked
package io.pgsteward;

import org.jspecify.annotations.NullMarked;
