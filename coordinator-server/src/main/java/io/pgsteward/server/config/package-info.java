/** The configuration file: read as a whole, refused as a whole, every problem with its line. */
@NullMarked
package io.pgsteward.server.config;

import org.jspecify.annotations.NullMarked;
