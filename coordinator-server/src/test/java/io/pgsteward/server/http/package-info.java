@NullMarked
package io.pgsteward.server.http;

import org.jspecify.annotations.NullMarked;
