/** The coordinator as a program: command line, start and stop, log. */
@NullMarked
package io.pgsteward.server;

import org.jspecify.annotations.NullMarked;
