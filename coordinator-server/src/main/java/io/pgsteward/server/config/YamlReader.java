package io.pgsteward.server.config;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Turns YAML into {@link YamlNode}s that remember their lines, reporting duplicate keys and going
 * on. Data binding would stop at the first mistake and forget where the others are. For one file
 * and one thread.
 */
final class YamlReader {

  private static final int DEEPEST = 20;
  private static final Pattern MARK = Pattern.compile(" in '?reader'?, line (\\d+), column \\d+:?");

  private final Problems problems;
  private final Map<String, YamlNode> anchors = new HashMap<>();

  YamlReader(Problems problems) {
    this.problems = problems;
  }

  /** The document, or null if it cannot be read; the reason is then among the problems. */
  @Nullable YamlNode read(String text) {
    try (YAMLParser parser = new YAMLFactory().createParser(text)) {
      if (parser.nextToken() == null) {
        problems.add(0, "", "the file is empty; it needs at least one entry under instances");
        return null;
      }
      YamlNode document = node(parser, "", 0);
      if (parser.nextToken() != null) {
        problems.add(line(parser), "", "a second document begins here; the file holds one only");
      }
      return document;
    } catch (TooDeepException e) {
      problems.add(e.line, "", "nested deeper than " + DEEPEST + " levels");
      return null;
    } catch (JsonProcessingException e) {
      problems.add(lineOf(e), "", "not YAML: " + withoutSnippets(e.getOriginalMessage()));
      return null;
    } catch (IOException e) {
      throw new IllegalStateException("reading from memory failed", e);
    }
  }

  private YamlNode node(YAMLParser parser, String path, int depth) throws IOException {
    int line = line(parser);
    if (depth > DEEPEST) {
      throw new TooDeepException(line);
    }
    if (parser.isCurrentAlias()) {
      YamlNode target = anchors.get(parser.getText());
      if (target == null) {
        problems.add(line, path, "refers to an anchor that is not defined above");
        return new YamlNode.Empty(line);
      }
      return target;
    }
    String anchor = parser.getObjectId();
    YamlNode node =
        switch (parser.currentToken()) {
          case START_OBJECT -> mapping(parser, path, depth, line);
          case START_ARRAY -> sequence(parser, path, depth, line);
          case VALUE_NULL -> new YamlNode.Empty(line);
          default -> new YamlNode.Scalar(line, parser.getText());
        };
    if (anchor != null) {
      anchors.put(anchor, node);
    }
    return node;
  }

  private YamlNode mapping(YAMLParser parser, String path, int depth, int line) throws IOException {
    List<YamlNode.Entry> entries = new ArrayList<>();
    Map<String, Integer> seen = new HashMap<>();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String key = parser.currentName();
      int keyLine = line(parser);
      String keyPath = path.isEmpty() ? key : path + "." + key;
      parser.nextToken();
      YamlNode value = node(parser, keyPath, depth + 1);
      Integer first = seen.putIfAbsent(key, keyLine);
      if (first == null) {
        entries.add(new YamlNode.Entry(key, keyLine, value));
      } else {
        problems.add(keyLine, keyPath, "the key was already given on line " + first);
      }
    }
    return new YamlNode.Mapping(line, List.copyOf(entries));
  }

  private YamlNode sequence(YAMLParser parser, String path, int depth, int line)
      throws IOException {
    List<YamlNode> items = new ArrayList<>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      items.add(node(parser, path + "[" + items.size() + "]", depth + 1));
    }
    return new YamlNode.Sequence(line, List.copyOf(items));
  }

  private static int line(YAMLParser parser) {
    return parser.currentTokenLocation().getLineNr();
  }

  /** The last mark in the message is where the parser gave up; the location is one token behind. */
  private static int lineOf(JsonProcessingException e) {
    int line = e.getLocation() == null ? 0 : Math.max(0, e.getLocation().getLineNr());
    Matcher mark = MARK.matcher(e.getOriginalMessage());
    while (mark.find()) {
      line = Integer.parseInt(mark.group(1));
    }
    return line;
  }

  /** The parser's message quotes the lines around the mistake, which may hold a password. */
  private static String withoutSnippets(String message) {
    StringBuilder text = new StringBuilder();
    for (String part : message.split("\n", -1)) {
      Matcher mark = MARK.matcher(part);
      if (mark.matches()) {
        text.append(" (line ").append(mark.group(1)).append(')');
      } else if (!part.isBlank() && !part.startsWith(" ")) {
        text.append(text.length() == 0 ? "" : "; ").append(part);
      }
    }
    return text.toString();
  }

  private static final class TooDeepException extends IOException {
    private static final long serialVersionUID = 1L;
    private final int line;

    TooDeepException(int line) {
      this.line = line;
    }
  }
}
