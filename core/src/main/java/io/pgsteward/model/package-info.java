/** The words of the model as values: tenants, members, instances, policies and time. */
@NullMarked
package io.pgsteward.model;

import org.jspecify.annotations.NullMarked;
