/** A minimal Spring Boot application with the DataSource as a bean. */
@NullMarked
package io.pgsteward.examples.spring;

import org.jspecify.annotations.NullMarked;
