/** What an application sees, tested as it uses it. */
@NullMarked
package io.pgsteward.jdbc;

import org.jspecify.annotations.NullMarked;
