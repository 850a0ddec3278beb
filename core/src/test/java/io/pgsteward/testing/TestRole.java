package io.pgsteward.testing;

/**
 * A login role made for a test.
 *
 * @param name the role's name
 * @param password the role's password, which the server checks
 */
public record TestRole(String name, String password) {}
