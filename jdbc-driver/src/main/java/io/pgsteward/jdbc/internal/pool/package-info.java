/**
 * The pool of one tenant in this process: who may have a connection, when one is opened, and when
 * one is really gone. Internal: it may change at any time. Knows no coordinator.
 */
@NullMarked
package io.pgsteward.jdbc.internal.pool;

import org.jspecify.annotations.NullMarked;
