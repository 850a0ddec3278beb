/**
 * The demo of the README: two tenants share one connection budget through a night, a busy morning,
 * visitors, a lost coordinator and a killed process, while PostgreSQL itself counts. Start reading
 * at {@code Story}.
 */
@NullMarked
package io.pgsteward.examples.demo;

import org.jspecify.annotations.NullMarked;
