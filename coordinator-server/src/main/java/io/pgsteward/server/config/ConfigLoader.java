package io.pgsteward.server.config;

import java.io.IOException;
import java.net.UnknownHostException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a configuration file. Everything that is wrong in it is found in one go and refused
 * together, each problem with its line; nothing wrong is silently corrected. The rules about the
 * file as a whole are here, those of its parts in {@link InstanceReader}, {@link PolicyReader},
 * {@link TokenReader} and {@link SecretReader}. Stateless apart from its environment.
 */
public final class ConfigLoader {

  private static final long LARGEST_FILE = 1 << 20;
  private static final Duration DEFAULT_LEASE = Duration.ofSeconds(15);
  private static final Duration LEAST_LEASE = Duration.ofMillis(500);
  private static final Duration MOST_LEASE = Duration.ofMinutes(10);
  private static final Duration LEAST_OBSERVE = Duration.ofMillis(50);
  private static final Duration DEFAULT_OBSERVE = Duration.ofSeconds(1);

  /** What the application name of the leader's session leaves beside the hash. */
  private static final int LONGEST_ADDRESS = 44;

  private static final Duration LEAST_PARK = Duration.ofMillis(50);

  private final Map<String, String> environment;

  /**
   * @param environment what {@code {env: NAME}} is looked up in
   */
  public ConfigLoader(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
  }

  /**
   * Reads the file.
   *
   * @throws ConfigException if the file cannot be read or anything in it is wrong
   */
  public ServerConfig load(Path file) throws ConfigException {
    Problems problems = new Problems();
    ServerConfig config = null;
    String text = text(file, problems);
    if (text != null) {
      YamlNode document = new YamlReader(problems).read(text);
      if (document instanceof YamlNode.Mapping mapping) {
        Path directory = file.toAbsolutePath().getParent();
        config =
            config(
                new Section(mapping, mapping.line(), "", problems),
                problems,
                new SecretReader(directory == null ? file : directory, environment));
      } else if (document != null) {
        problems.add(
            document.line(),
            "",
            "must begin with keys such as instances, but it is " + document.kind());
      }
    }
    if (config == null || !problems.isEmpty()) {
      throw new ConfigException(file.toString(), problems.byLine());
    }
    return config;
  }

  private static @Nullable String text(Path file, Problems problems) {
    try {
      if (Files.isDirectory(file)) {
        problems.add(0, "", "is a directory; --config needs the file itself");
      } else if (Files.exists(file) && Files.size(file) > LARGEST_FILE) {
        problems.add(0, "", "is larger than 1 MB and so no configuration file");
      } else {
        return Files.readString(file);
      }
    } catch (NoSuchFileException e) {
      problems.add(0, "", "there is no such file; --config names the configuration file");
    } catch (CharacterCodingException e) {
      problems.add(0, "", "is not UTF-8 text");
    } catch (IOException e) {
      problems.add(0, "", "cannot be read: " + SecretReader.reason(e));
    }
    return null;
  }

  private static ServerConfig config(Section file, Problems problems, SecretReader secrets) {
    ListenAddress listen = or(address(file, "listen"), ListenAddress.DEFAULT);
    ListenAddress advertise = advertise(file);
    Duration lease = or(file.duration("lease", LEAST_LEASE, MOST_LEASE), DEFAULT_LEASE);
    Duration park = thirdOfLease(file, "park", LEAST_PARK, lease, lease);
    Duration observe = thirdOfLease(file, "observe", LEAST_OBSERVE, DEFAULT_OBSERVE, lease);
    List<InstanceConfig> instances = instances(file, new InstanceReader(secrets));
    int before = problems.count();
    TokenConfig tokens = new TokenReader(secrets).read(file);
    if (problems.count() == before) {
      loopbackWithoutTokens(file, listen, tokens);
    }
    file.finish();
    return new ServerConfig(listen, advertise, lease, park, observe, instances, tokens);
  }

  private static <T> T or(@Nullable T given, T otherwise) {
    return given == null ? otherwise : given;
  }

  private static @Nullable ListenAddress address(Section file, String key) {
    String text = file.text(key);
    if (text == null) {
      return null;
    }
    try {
      return ListenAddress.parse(text);
    } catch (IllegalArgumentException e) {
      file.problem(key, String.valueOf(e.getMessage()));
      return null;
    }
  }

  private static @Nullable ListenAddress advertise(Section file) {
    ListenAddress address = address(file, "advertise");
    if (address != null && (address.isWildcard() || address.port() == 0)) {
      file.problem(
          "advertise", "must name one machine and a port, since others are sent there: " + address);
    } else if (address != null && address.toString().length() > LONGEST_ADDRESS) {
      file.problem(
          "advertise",
          "has "
              + address.toString().length()
              + " characters, but others learn it through PostgreSQL, which keeps "
              + LONGEST_ADDRESS);
    }
    return address;
  }

  /**
   * A time that is a third of the lease at most: a member that is parked for longer risks its
   * lease, and a leader that looks less often risks its session, which PostgreSQL ends when it is
   * idle.
   *
   * @param otherwise what it is when it is left out, if the lease allows
   */
  private static Duration thirdOfLease(
      Section file, String key, Duration least, Duration otherwise, Duration lease) {
    Duration longest = lease.dividedBy(3);
    Duration given = file.duration(key, least, MOST_LEASE);
    if (given == null) {
      return longest.compareTo(otherwise) < 0 ? longest : otherwise;
    }
    if (given.compareTo(longest) > 0) {
      file.problem(
          key,
          "must be at most a third of the lease, but it is "
              + Section.write(given)
              + " and lease "
              + Section.write(lease));
    }
    return given;
  }

  private static List<InstanceConfig> instances(Section file, InstanceReader reader) {
    List<InstanceConfig> instances = new ArrayList<>();
    Section section = file.section("instances");
    if (section == null) {
      if (!file.has("instances")) {
        file.problem(
            "instances", "is missing: the PostgreSQL servers, each under a name of its own");
      }
      return instances;
    }
    Map<String, String> names = new HashMap<>();
    for (Section.Named named : section.groups()) {
      InstanceConfig instance = reader.read(named);
      instances.add(instance);
      String earlier = names.putIfAbsent(instance.server(), named.name());
      if (earlier != null && !instance.url().isEmpty()) {
        named.group().problem("url", "is the server of " + earlier + "; one server has one budget");
      }
    }
    if (section.isEmpty()) {
      file.problem("instances", "names no PostgreSQL server");
    }
    return instances;
  }

  private static void loopbackWithoutTokens(
      Section file, ListenAddress listen, TokenConfig tokens) {
    try {
      if (listen.isLoopback()) {
        return;
      }
    } catch (UnknownHostException e) {
      file.problem("listen", "the host " + listen.host() + " is not known");
      return;
    }
    List<String> open = new ArrayList<>();
    if (tokens.members().isEmpty()) {
      open.add("tokens.members");
    }
    if (tokens.operators().isEmpty()) {
      open.add("tokens.operators");
    }
    if (!open.isEmpty()) {
      file.problem(
          "listen",
          "other machines can reach "
              + listen
              + ", so "
              + String.join(" and ", open)
              + " must be given; without tokens use a loopback address such as 127.0.0.1:7432");
    }
  }
}
