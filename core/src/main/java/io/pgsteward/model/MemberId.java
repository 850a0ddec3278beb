package io.pgsteward.model;

import java.security.SecureRandom;
import java.util.regex.Pattern;

/**
 * The name of one started runtime in an application process. Random for each start, so that a
 * restarted process is a new member and never frees the slots of the old one. Immutable.
 *
 * @param value 8 to 64 characters of {@code a-z A-Z 0-9 _ -}, since it stands in URLs and in {@code
 *     application_name}
 */
public record MemberId(String value) implements Comparable<MemberId> {

  private static final Pattern FORM = Pattern.compile("[A-Za-z0-9_-]{8,64}");
  private static final SecureRandom RANDOM = new SecureRandom();

  public MemberId {
    if (!FORM.matcher(value).matches()) {
      throw new IllegalArgumentException(
          "a member id is 8 to 64 characters of a-z A-Z 0-9 _ -, but it was \"" + value + "\"");
    }
  }

  /** A new id that no other start has (80 random bits). Thread-safe. */
  public static MemberId random() {
    byte[] bits = new byte[10];
    RANDOM.nextBytes(bits);
    StringBuilder text = new StringBuilder(20);
    for (byte b : bits) {
      text.append(Character.forDigit((b >> 4) & 0xf, 16)).append(Character.forDigit(b & 0xf, 16));
    }
    return new MemberId(text.toString());
  }

  @Override
  public int compareTo(MemberId other) {
    return value.compareTo(other.value);
  }

  @Override
  public String toString() {
    return value;
  }
}
