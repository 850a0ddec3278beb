package io.pgsteward.protocol;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;

/**
 * JSON of the records in this package; the only class of core that knows the JSON library. Reading
 * is lenient: unknown fields are ignored and numbers left out are 0, so that versions can differ.
 * Null fields are not written. Thread-safe.
 */
public final class Json {

  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.READ_UNKNOWN_ENUM_VALUES_AS_NULL)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .serializationInclusion(JsonInclude.Include.NON_NULL)
          .build();

  private Json() {}

  /** The JSON text of a record of this package, in UTF-8. */
  public static byte[] write(Object message) {
    try {
      return MAPPER.writeValueAsBytes(message);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("cannot write " + message.getClass().getSimpleName(), e);
    }
  }

  /**
   * Reads a record of this package.
   *
   * @throws MalformedMessageException if the text is not JSON of that record
   */
  public static <T> T read(byte[] json, Class<T> type) throws MalformedMessageException {
    try {
      T message = MAPPER.readValue(json, type);
      if (message == null) {
        throw new MalformedMessageException(type.getSimpleName() + " was null", null);
      }
      return message;
    } catch (JacksonException e) {
      throw new MalformedMessageException(
          "not a " + type.getSimpleName() + ": " + e.getOriginalMessage() + at(e), e);
    } catch (IOException e) {
      throw new MalformedMessageException("not a " + type.getSimpleName(), e);
    }
  }

  private static String at(JacksonException e) {
    return e.getLocation() == null
        ? ""
        : " (line "
            + e.getLocation().getLineNr()
            + ", column "
            + e.getLocation().getColumnNr()
            + ")";
  }
}
