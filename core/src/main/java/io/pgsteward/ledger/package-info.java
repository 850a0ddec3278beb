/** What each member was granted and may still hold. Pure; time comes in as an argument. */
@NullMarked
package io.pgsteward.ledger;

import org.jspecify.annotations.NullMarked;
