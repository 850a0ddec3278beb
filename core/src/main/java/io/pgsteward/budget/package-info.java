/** How many connections the whole system may open on an instance now. Pure. */
@NullMarked
package io.pgsteward.budget;

import org.jspecify.annotations.NullMarked;
