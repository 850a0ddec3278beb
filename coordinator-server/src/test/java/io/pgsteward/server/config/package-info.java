@NullMarked
package io.pgsteward.server.config;

import org.jspecify.annotations.NullMarked;
