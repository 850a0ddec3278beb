package io.pgsteward.jdbc.internal.session;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * How a member reaches its coordinator. DataSources with equal coordinator, instance and token
 * share one member. Immutable; {@link #toString} shows no secret.
 */
public final class MemberSettings {

  private final List<URI> coordinators;
  private final @Nullable String instance;
  private final @Nullable String token;
  private final String name;
  private final @Nullable String server;
  private final @Nullable String controlUrl;
  private final Properties controlProperties;

  private MemberSettings(
      List<URI> coordinators,
      @Nullable String instance,
      @Nullable String token,
      String name,
      @Nullable String server,
      @Nullable String controlUrl,
      Properties controlProperties) {
    this.coordinators = List.copyOf(coordinators);
    this.instance = instance;
    this.token = token;
    this.name = name;
    this.server = server;
    this.controlUrl = controlUrl;
    this.controlProperties = controlProperties;
  }

  /**
   * A member that asks coordinators over HTTP.
   *
   * @param addresses one or more {@code http://} or {@code https://} addresses, separated by
   *     commas, in the order in which they are tried
   * @param instance the instance's name in the coordinator's configuration; null for the only one
   * @param token the member's token; null to send none
   * @param name what the process calls itself, for people; may be empty
   * @throws IllegalArgumentException if an address or the token has no usable form; the message
   *     quotes the address and never the token
   */
  public static MemberSettings http(
      String addresses, @Nullable String instance, @Nullable String token, String name) {
    List<URI> coordinators = new ArrayList<>();
    for (String address : addresses.split(",", -1)) {
      coordinators.add(coordinator(address.strip()));
    }
    if (token != null && !token.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
      throw new IllegalArgumentException(
          "the coordinator's token may hold visible ASCII characters only (its value is not shown)");
    }
    return new MemberSettings(coordinators, instance, token, name, null, null, new Properties());
  }

  /**
   * A member that runs the coordinator in this process ({@code coordinator=local}).
   *
   * @param server the server's hosts and ports as text: local members of one server share one
   * @param controlUrl pgjdbc URL for the control session
   * @param controlProperties pgjdbc properties for it, with user and password; copied
   */
  public static MemberSettings local(
      String server, String controlUrl, Properties controlProperties, String name) {
    Properties copy = new Properties();
    for (String key : controlProperties.stringPropertyNames()) {
      copy.setProperty(key, Objects.requireNonNull(controlProperties.getProperty(key)));
    }
    return new MemberSettings(List.of(), null, null, name, server, controlUrl, copy);
  }

  private static URI coordinator(String text) {
    URI address;
    try {
      address = new URI(text);
    } catch (URISyntaxException e) {
      throw malformed(text);
    }
    String scheme = address.getScheme() == null ? "" : address.getScheme().toLowerCase(Locale.ROOT);
    boolean plain =
        address.getRawUserInfo() == null
            && address.getRawQuery() == null
            && address.getRawFragment() == null;
    if (!(scheme.equals("http") || scheme.equals("https")) || address.getHost() == null || !plain) {
      throw malformed(text);
    }
    return address;
  }

  private static IllegalArgumentException malformed(String text) {
    return new IllegalArgumentException(
        "a coordinator's address is http://host:port or https://host:port, several are separated by"
            + " commas, and without a coordinator it is the word local; but it was \""
            + text.replaceAll("//[^/@]*@", "//***@")
            + "\"");
  }

  /** Addresses in the order in which they are tried; empty when the coordinator is local. */
  public List<URI> coordinators() {
    return coordinators;
  }

  /** The instance's name in the coordinator's configuration; null for the only one. */
  public @Nullable String instance() {
    return instance;
  }

  /** What the process calls itself; may be empty. */
  public String name() {
    return name;
  }

  boolean isLocal() {
    return server != null;
  }

  @Nullable String token() {
    return token;
  }

  String controlUrl() {
    return Objects.requireNonNull(controlUrl);
  }

  Properties controlProperties() {
    Properties copy = new Properties();
    copy.putAll(controlProperties);
    return copy;
  }

  /** What must be equal for two DataSources to share a member. Its text shows no secret. */
  Key key() {
    return new Key(coordinators, instance, token, server);
  }

  record Key(
      List<URI> coordinators,
      @Nullable String instance,
      @Nullable String token,
      @Nullable String server) {

    @Override
    public String toString() {
      return server != null ? "local on " + server : coordinators + " instance " + instance;
    }
  }

  @Override
  public String toString() {
    return key() + (name.isEmpty() ? "" : " as " + name);
  }
}
