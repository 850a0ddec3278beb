@NullMarked
package io.pgsteward.server;

import org.jspecify.annotations.NullMarked;
