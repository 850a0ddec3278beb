/** The records that travel between member, coordinator and operator, and their JSON. */
@NullMarked
package io.pgsteward.protocol;

import org.jspecify.annotations.NullMarked;
