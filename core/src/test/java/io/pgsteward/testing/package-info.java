/**
 * Instruments that tests, demo and benchmarks share: PostgreSQL servers, the witness that counts
 * backends, a TCP proxy that makes faults, processes. Published as the test-jar of core.
 */
@NullMarked
package io.pgsteward.testing;

import org.jspecify.annotations.NullMarked;
