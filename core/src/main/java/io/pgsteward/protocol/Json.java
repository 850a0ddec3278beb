package io.pgsteward.protocol;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.exc.ValueInstantiationException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;
import java.util.Collection;

/**
 * JSON of the records in this package; the only class of core that knows the JSON library. Reading
 * is lenient where versions can differ: unknown fields are ignored and numbers left out are 0. It
 * is strict in types: a text or a fraction is no whole number. Null fields are not written.
 * Thread-safe.
 */
public final class Json {

  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.READ_UNKNOWN_ENUM_VALUES_AS_NULL)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
          .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .withCoercionConfig(
              LogicalType.Textual,
              texts ->
                  texts
                      .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
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
          "not a " + type.getSimpleName() + ": " + field(e) + reason(e) + at(e), e);
    } catch (IOException e) {
      throw new MalformedMessageException("not a " + type.getSimpleName(), e);
    }
  }

  /** The field as the sender wrote it, such as {@code tenants[0].pids[2]}. */
  private static String field(JacksonException e) {
    if (!(e instanceof JsonMappingException mapping)) {
      return "";
    }
    StringBuilder field = new StringBuilder();
    for (JsonMappingException.Reference part : mapping.getPath()) {
      if (part.getFieldName() == null) {
        field.append('[').append(part.getIndex()).append(']');
      } else {
        field.append(field.isEmpty() ? "" : ".").append(part.getFieldName());
      }
    }
    return field.isEmpty() ? "" : field.append(": ").toString();
  }

  private static String reason(JacksonException e) {
    if (e instanceof ValueInstantiationException
        && e.getCause() instanceof IllegalArgumentException wrong) {
      return String.valueOf(wrong.getMessage());
    }
    if (e instanceof MismatchedInputException mismatch && mismatch.getTargetType() != null) {
      return "must be " + kind(mismatch.getTargetType());
    }
    return e.getOriginalMessage();
  }

  private static String kind(Class<?> type) {
    if (type == int.class || type == Integer.class || type == long.class || type == Long.class) {
      return "a whole number";
    }
    if (type == boolean.class) {
      return "true or false";
    }
    if (type == String.class) {
      return "a text";
    }
    if (Collection.class.isAssignableFrom(type)) {
      return "a list";
    }
    return type.isEnum() ? "a word" : "an object";
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
