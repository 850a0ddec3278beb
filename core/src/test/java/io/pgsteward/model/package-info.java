/** Tests of the model's values. */
@NullMarked
package io.pgsteward.model;

import org.jspecify.annotations.NullMarked;
