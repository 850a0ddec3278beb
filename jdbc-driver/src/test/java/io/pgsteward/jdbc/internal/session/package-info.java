/** Tests of a member's side of the control path. */
@NullMarked
package io.pgsteward.jdbc.internal.session;

import org.jspecify.annotations.NullMarked;
