package io.lambdadispatcher.wire.event;

import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonWriteFeature;

/**
 * JSON as maps, lists, strings, {@link BigDecimal}s, booleans and nulls, for small and rare
 * documents: launch payloads, ordinary invocations and errors. Requests and responses have {@link
 * EventWriter} and {@link ResponseReader}. Any thread.
 */
public final class Json {
    /** Escapes everything except ASCII, so that the text fits into a header. */
    private static final JsonFactory FACTORY =
            JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    private Json() {}

    /**
     * Reads one value.
     *
     * @throws JacksonException if the text is not one JSON value, or contains a number that {@link
     *     BigDecimal} cannot represent
     */
    public static @Nullable Object read(byte[] text) {
        try (JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), text)) {
            if (parser.nextToken() == null) {
                throw new StreamReadException(parser, "no value");
            }
            Object value = value(parser);
            if (parser.nextToken() != null) {
                throw new StreamReadException(parser, "more than one value");
            }
            return value;
        }
    }

    /**
     * Reads the members of an object, in their order; empty if the text is another value or not
     * JSON.
     */
    @SuppressWarnings("unchecked")
    public static Map<String, @Nullable Object> readObject(byte[] text) {
        try {
            return read(text) instanceof Map<?, ?> map ? (Map<String, @Nullable Object>) map : Map.of();
        } catch (JacksonException e) {
            return Map.of();
        }
    }

    /**
     * Reads which members an object has, with the values of those that are numbers or booleans.
     * Others are {@code null}, so that a large event takes no memory. Empty if the text is another
     * value or not JSON. What follows the object is not looked at.
     */
    public static Map<String, @Nullable Object> readTopLevel(byte[] text) {
        try (JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), text)) {
            Map<String, @Nullable Object> members = new LinkedHashMap<>();
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return Map.of();
            }
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = parser.currentName();
                JsonToken token = parser.nextToken();
                members.put(name, token.isNumeric() || token.isBoolean() ? scalar(parser, token) : null);
                parser.skipChildren();
            }
            return members;
        } catch (JacksonException e) {
            return Map.of();
        }
    }

    /** Returns whether the text is one JSON value, with nothing behind it. */
    public static boolean isJson(byte[] text) {
        try (JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), text)) {
            if (parser.nextToken() == null) {
                return false;
            }
            parser.skipChildren();
            return parser.nextToken() == null;
        } catch (JacksonException e) {
            return false;
        }
    }

    private static @Nullable Object value(JsonParser parser) {
        JsonToken token = parser.currentToken();
        if (token == JsonToken.START_OBJECT) {
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                String name = parser.currentName();
                parser.nextToken();
                object.put(name, value(parser));
            }
            return object;
        }
        if (token == JsonToken.START_ARRAY) {
            List<@Nullable Object> array = new ArrayList<>();
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                array.add(value(parser));
            }
            return array;
        }
        return scalar(parser, token);
    }

    private static @Nullable Object scalar(JsonParser parser, @Nullable JsonToken token) {
        if (token == JsonToken.VALUE_STRING) {
            return parser.getString();
        }
        if (token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT) {
            return number(parser);
        }
        return token == JsonToken.VALUE_TRUE ? Boolean.TRUE : token == JsonToken.VALUE_FALSE ? Boolean.FALSE : null;
    }

    private static BigDecimal number(JsonParser parser) {
        try {
            return parser.getDecimalValue();
        } catch (NumberFormatException e) {
            throw new StreamReadException(parser, "a number beyond all limits", e);
        }
    }

    /**
     * Writes one value as ASCII. Numbers other than {@link BigDecimal}s are written as integers.
     */
    public static String write(@Nullable Object value) {
        StringWriter out = new StringWriter();
        try (JsonGenerator json = FACTORY.createGenerator(ObjectWriteContext.empty(), out)) {
            write(json, value);
        }
        // DEL is ASCII and JSON may have it, but a header must not. It can only be within a string.
        return out.toString().replace("\u007F", "\\u007F");
    }

    /** Writes one value as {@link #write} does. */
    public static byte[] bytes(@Nullable Object value) {
        return write(value).getBytes(StandardCharsets.US_ASCII);
    }

    private static void write(JsonGenerator json, @Nullable Object value) {
        if (value instanceof Map<?, ?> object) {
            json.writeStartObject();
            object.forEach((name, part) -> {
                json.writeName(String.valueOf(name));
                write(json, part);
            });
            json.writeEndObject();
        } else if (value instanceof List<?> array) {
            json.writeStartArray();
            array.forEach(part -> write(json, part));
            json.writeEndArray();
        } else if (value instanceof BigDecimal number) {
            json.writeNumber(number);
        } else if (value instanceof Number number) {
            json.writeNumber(number.longValue());
        } else if (value instanceof Boolean flag) {
            json.writeBoolean(flag);
        } else if (value == null) {
            json.writeNull();
        } else {
            json.writeString(value.toString());
        }
    }
}
