/**
 * A member's side of the control path: the session with the coordinator, the leases, and the
 * runtime that DataSources share. Internal: may change in any release.
 */
@NullMarked
package io.pgsteward.jdbc.internal.session;

import org.jspecify.annotations.NullMarked;
