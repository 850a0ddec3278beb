package io.pgsteward.server.config;

import io.pgsteward.enforcement.EnforceMode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.TreeSet;

/** What all coordinators of one instance must agree on, whatever else their files say. */
final class Agreement {

  private Agreement() {}

  /**
   * A short text that differs when two coordinators would count the same connections differently:
   * which roles are managed and foreign, the margin and the enforcement.
   */
  static String hash(Section section, int margin, EnforceMode enforcement) {
    StringBuilder text = new StringBuilder();
    text.append(margin).append(' ').append(enforcement).append(' ').append(section.has("default"));
    TreeSet<String> managed = new TreeSet<>();
    if (section.value("tenants") instanceof YamlNode.Mapping tenants) {
      tenants.entries().forEach(e -> managed.add(e.key().split("@", -1)[0]));
    }
    TreeSet<String> foreign = new TreeSet<>();
    if (section.value("foreign") instanceof YamlNode.Sequence roles) {
      roles.items().forEach(r -> foreign.add(r instanceof YamlNode.Scalar s ? s.text() : ""));
    }
    text.append(' ').append(managed).append(' ').append(foreign);
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256")
              .digest(text.toString().getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 4);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
