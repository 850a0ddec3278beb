package io.pgsteward.server.config;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a secret that is given by value, as {@code {env: NAME}} or as {@code {file: path}}. A path
 * that is not absolute starts at the configuration file's directory. No message quotes a secret.
 */
final class SecretReader {

  private final Path directory;
  private final Map<String, String> environment;

  SecretReader(Path directory, Map<String, String> environment) {
    this.directory = directory;
    this.environment = environment;
  }

  /** The secret, or null when it is left out or cannot be had; the latter is a problem. */
  @Nullable Secret read(Section section, String key) {
    YamlNode value = section.value(key);
    if (value == null) {
      return null;
    }
    if (value instanceof YamlNode.Scalar scalar) {
      return notEmpty(section, key, scalar.text());
    }
    Section source = value instanceof YamlNode.Mapping ? section.section(key) : null;
    if (source == null) {
      section.problem(
          key, "must be a text, {env: NAME} or {file: path}, but it is " + value.kind());
      return null;
    }
    String variable = source.text("env");
    String file = source.text("file");
    source.finish();
    if (source.has("env") == source.has("file")) {
      section.problem(key, "must have exactly one of env and file");
      return null;
    }
    if (variable != null) {
      String text = environment.get(variable);
      if (text == null) {
        source.problem("env", "the environment variable " + variable + " is not set");
        return null;
      }
      return notEmpty(source, "env", text);
    }
    return file == null ? null : fromFile(source, file);
  }

  private @Nullable Secret fromFile(Section source, String file) {
    try {
      Path path = directory.resolve(file);
      if (Files.isDirectory(path)) {
        source.problem("file", path + " is a directory, not a file");
        return null;
      }
      return notEmpty(source, "file", withoutLastNewline(Files.readString(path)));
    } catch (NoSuchFileException e) {
      source.problem("file", "there is no file " + e.getFile());
    } catch (CharacterCodingException e) {
      source.problem("file", file + " is not UTF-8 text");
    } catch (IOException | InvalidPathException e) {
      source.problem("file", file + " cannot be read: " + reason(e));
    }
    return null;
  }

  static String reason(Exception e) {
    return e.getClass().getSimpleName()
        + (e.getMessage() == null ? "" : " (" + e.getMessage() + ")");
  }

  private static String withoutLastNewline(String text) {
    if (text.endsWith("\r\n")) {
      return text.substring(0, text.length() - 2);
    }
    return text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
  }

  private static @Nullable Secret notEmpty(Section section, String key, String text) {
    if (text.isEmpty()) {
      section.problem(key, "is empty");
      return null;
    }
    return new Secret(text);
  }
}
