/** What members and operators reach over HTTP. The only package that knows the web server. */
@NullMarked
package io.pgsteward.server.http;

import org.jspecify.annotations.NullMarked;
