package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.http.Authority;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.CharsetUtil;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** Writes requests as JSON events of one format. Immutable. Any thread. */
public abstract class EventWriter {
    private static final JsonFactory JSON = new JsonFactory();
    private static final Set<String> TEXT_TYPES =
            Set.of("application/json", "application/javascript", "application/xml");
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ENGLISH)
            .withZone(ZoneOffset.UTC);
    private static final int HEAD_BYTES = 2048;
    private static final AsciiString X_FORWARDED_FOR = AsciiString.cached("x-forwarded-for");
    private static final AsciiString X_FORWARDED_PROTO = AsciiString.cached("x-forwarded-proto");

    EventWriter() {}

    /** @param function name of the function, which some formats contain */
    public static EventWriter of(EventFormat format, String function) {
        return switch (format) {
            case ALB -> new AlbEvent(function, false);
            case ALB_MULTI_VALUE -> new AlbEvent(function, true);
            case HTTP_API_V2 -> new HttpApiEvent();
            case REST_API -> new RestApiEvent();
            case FUNCTION_URL -> new FunctionUrlEvent();
        };
    }

    /**
     * @param head request headers with pseudo-headers
     * @param body on the heap; remains the caller's, with its reader index unchanged
     * @throws EventTooLargeException if the event is larger than {@code limitBytes}
     */
    public final byte[] write(Http2Headers head, ByteBuf body, int limitBytes) {
        return write(head, body, null, limitBytes);
    }

    /**
     * Writes an event like the other {@code write}.
     *
     * @param requestId the request's id in the formats that have one; {@code null} for a new one
     */
    public final byte[] write(Http2Headers head, ByteBuf body, @Nullable String requestId, int limitBytes) {
        boolean base64 = body.isReadable() && !isText(head, body);
        int bodyBytes = base64 ? (body.readableBytes() + 2) / 3 * 4 : body.readableBytes();
        BodyBuffer buffer = BodyBuffer.ofArray(HEAD_BYTES + bodyBytes, limitBytes);
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), buffer)) {
            json.writeStartObject();
            writeRequest(json, head, requestId);
            writeBody(json, body, base64);
            json.writeEndObject();
        }
        return buffer.toArray();
    }

    /** Writes everything except {@code body} and {@code isBase64Encoded}. */
    abstract void writeRequest(JsonGenerator json, Http2Headers head, @Nullable String requestId);

    /**
     * Returns whether a body of this type can be a JSON string. {@code type} is in lower case and
     * without parameters; {@code null} if there is none.
     */
    abstract boolean isTextType(@Nullable String type);

    /** Writes what represents an empty body. */
    abstract void writeEmptyBody(JsonGenerator json);

    /**
     * Text of a declared type that is not UTF-8 is sent as base64. AWS would replace some of its
     * bytes, and the function could not know.
     */
    private boolean isText(Http2Headers head, ByteBuf body) {
        CharSequence type = head.get(HttpHeaderNames.CONTENT_TYPE);
        return !head.contains(HttpHeaderNames.CONTENT_ENCODING)
                && isTextType(type == null ? null : withoutParameters(type.toString()))
                && ByteBufUtil.isText(body, CharsetUtil.UTF_8);
    }

    private static String withoutParameters(String type) {
        int semicolon = type.indexOf(';');
        return AsciiString.of(semicolon < 0 ? type : type.substring(0, semicolon))
                .trim()
                .toLowerCase()
                .toString();
    }

    private void writeBody(JsonGenerator json, ByteBuf body, boolean base64) {
        if (!body.isReadable()) {
            writeEmptyBody(json);
        } else {
            json.writeName("body");
            if (base64) {
                // HotSpot has vector instructions for this encoder: 16 µs for 168,161 bytes, and
                // the JSON generator's own encoder takes 480.
                byte[] encoded = Base64.getEncoder().encode(body.nioBuffer()).array();
                json.writeRawUTF8String(encoded, 0, encoded.length);
            } else {
                json.writeUTF8String(body.array(), body.arrayOffset() + body.readerIndex(), body.readableBytes());
            }
        }
        json.writeBooleanProperty("isBase64Encoded", base64);
    }

    // Helpers for the formats.

    /** Returns whether all formats except a REST API's treat the type as text. */
    static boolean isTextByLoadBalancer(@Nullable String type) {
        return type != null && (type.startsWith("text/") || TEXT_TYPES.contains(type));
    }

    static String path(Http2Headers head) {
        String target = head.path().toString();
        int question = target.indexOf('?');
        return HeaderText.decode(question < 0 ? target : target.substring(0, question));
    }

    /**
     * Returns the query string without the question mark, one character for each byte; empty if
     * there is none.
     */
    static String query(Http2Headers head) {
        String target = head.path().toString();
        int question = target.indexOf('?');
        return question < 0 ? "" : target.substring(question + 1);
    }

    /** Writes the last value of each name. */
    static void writeLast(JsonGenerator json, String property, Map<String, Values> fields) {
        json.writeObjectPropertyStart(property);
        fields.forEach((name, values) -> json.writeStringProperty(name, values.last()));
        json.writeEndObject();
    }

    /** Writes an array of all values for each name. */
    static void writeAll(JsonGenerator json, String property, Map<String, Values> fields) {
        json.writeObjectPropertyStart(property);
        fields.forEach((name, values) -> {
            json.writeArrayPropertyStart(name);
            values.all().forEach(json::writeString);
            json.writeEndArray();
        });
        json.writeEndObject();
    }

    /**
     * Returns the headers as AWS shows them: without pseudo-headers but with {@code host}, and with
     * the port that the client connected to.
     */
    static Map<String, Values> fields(Http2Headers head) {
        Map<String, Values> fields = new LinkedHashMap<>();
        CharSequence authority = head.authority();
        if (authority != null) {
            Values.put(fields, "host", authority.toString());
        }
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            CharSequence name = field.getKey();
            if (name.charAt(0) != ':' && !HopByHop.CLIENT.contentEquals(name)) {
                Values.put(fields, name.toString(), field.getValue().toString());
            }
        }
        CharSequence scheme = head.get(X_FORWARDED_PROTO);
        if (scheme != null && !fields.containsKey("x-forwarded-port")) {
            int port = Authority.port(authority == null ? "" : authority, scheme);
            Values.put(fields, "x-forwarded-port", Integer.toString(port < 0 ? Authority.port("", scheme) : port));
        }
        return fields;
    }

    /** Returns the host without the port; empty if there is no authority. */
    static String domain(Http2Headers head) {
        CharSequence authority = head.authority();
        String text = authority == null ? "" : authority.toString();
        int colon = text.lastIndexOf(':');
        return colon > text.lastIndexOf(']') ? text.substring(0, colon) : text;
    }

    static void writeDomain(JsonGenerator json, Http2Headers head) {
        String domain = domain(head);
        int dot = domain.indexOf('.');
        json.writeStringProperty("domainName", domain);
        json.writeStringProperty("domainPrefix", dot < 0 ? domain : domain.substring(0, dot));
    }

    static String userAgent(Http2Headers head) {
        CharSequence agent = head.get(HttpHeaderNames.USER_AGENT);
        return agent == null ? "" : HeaderText.decode(agent);
    }

    /** Formats a time like API Gateway: {@code 12/Mar/2020:19:03:58 +0000}. */
    static String time(Instant at) {
        return TIME.format(at);
    }

    /**
     * Returns the id, or a new one. New ids differ between all environments that are restored from
     * one snapshot, because SecureRandom is seeded again after a restore. Other generators are not.
     */
    static String orNew(@Nullable String requestId) {
        return requestId == null ? UUID.randomUUID().toString() : requestId;
    }

    /**
     * Returns the address of the client: what the dispatcher says, or the last address in {@code
     * x-forwarded-for}, which it has added.
     */
    static String sourceAddress(Http2Headers head) {
        CharSequence client = head.get(HopByHop.CLIENT);
        if (client != null) {
            return client.toString();
        }
        CharSequence chain = head.get(X_FORWARDED_FOR);
        if (chain == null) {
            return "unknown";
        }
        String all = chain.toString();
        return all.substring(all.lastIndexOf(',') + 1).trim();
    }
}
