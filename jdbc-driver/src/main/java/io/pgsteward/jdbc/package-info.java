/**
 * The DataSource and the {@code jdbc:pgsteward:} driver: everything that an application touches.
 *
 * <p>{@link io.pgsteward.jdbc.PgStewardDataSource} is the entry. What stands under {@code internal}
 * may change with any release.
 */
@NullMarked
package io.pgsteward.jdbc;

import org.jspecify.annotations.NullMarked;
