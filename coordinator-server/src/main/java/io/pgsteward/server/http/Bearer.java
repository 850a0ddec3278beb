package io.pgsteward.server.http;

import io.pgsteward.server.config.Secret;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.jspecify.annotations.Nullable;

/**
 * A bearer token as a caller may present it. Keeps a digest, compares in a time that does not
 * depend on the token. Immutable.
 */
final class Bearer {

  private static final String SCHEME = "Bearer ";

  private final byte[] digest;

  private Bearer(String token) {
    this.digest = sha256(token);
  }

  static Bearer of(Secret token) {
    return new Bearer(token.reveal());
  }

  /** The token in an {@code Authorization} header, or null if there is none. */
  static @Nullable Bearer from(@Nullable String header) {
    return header != null && header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
        ? new Bearer(header.substring(SCHEME.length()).trim())
        : null;
  }

  boolean matches(Bearer other) {
    return MessageDigest.isEqual(digest, other.digest);
  }

  private static byte[] sha256(String token) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
