/** Role connection limits: what PostgreSQL itself refuses. Pure; time comes in as an argument. */
@NullMarked
package io.pgsteward.enforcement;

import org.jspecify.annotations.NullMarked;
