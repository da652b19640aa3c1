package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Makes a head of the fields that a function has returned. What belongs to a connection or to our own framing is dropped (RFC 9110
 * sections 7.6.1 and 8.6); what no HTTP message can hold is an error, for a part of it might be taken for a field of its own.
 */
final class FunctionResponseHead {
    private static final String TOKEN_MARKS = "!#$%&'*+-.^_`|~";
    private static final Set<String> DROPPED = Set.of(
            "connection",
            "keep-alive",
            "proxy-connection",
            "proxy-authenticate",
            "proxy-authorization",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "http2-settings");
    /** What a field counts beyond its letters (RFC 9113 section 6.5.2). */
    private static final int FIELD_BYTES = 32;

    private static final AsciiString HEAD = AsciiString.cached("HEAD");

    private final Http2Headers fields = new DefaultHttp2Headers(false);
    private final Set<String> nominated = new HashSet<>();
    private int listBytes;

    void add(String name, String value) throws BadResponseException {
        verifyName(name);
        String lower = name.toLowerCase(Locale.ROOT);
        String trimmed = withoutOuterSpace(value);
        verifyValue(lower, trimmed);
        if (lower.equals("connection")) {
            for (String option : trimmed.split(",")) {
                nominated.add(option.trim().toLowerCase(Locale.ROOT));
            }
        }
        listBytes += lower.length() + trimmed.length() + FIELD_BYTES;
        if (listBytes > WireLimits.MAX_HEAD_LIST_BYTES) {
            throw new BadResponseException("headers of more than " + WireLimits.MAX_HEAD_LIST_BYTES + " octets");
        }
        if (!DROPPED.contains(lower)) {
            fields.add(AsciiString.of(lower), AsciiString.of(trimmed));
        }
    }

    /** Adds those fields of another that are not here already, name and value. */
    void merge(FunctionResponseHead other) throws BadResponseException {
        for (Map.Entry<CharSequence, CharSequence> field : other.fields) {
            if (!fields.contains(field.getKey(), field.getValue())) {
                add(field.getKey().toString(), field.getValue().toString());
            }
        }
        nominated.addAll(other.nominated);
    }

    /** RFC 9110 section 5.5: space and tab, not everything that {@link String#trim} takes away. */
    private static String withoutOuterSpace(String value) {
        int start = 0;
        int end = value.length();
        while (start < end && isSpace(value.charAt(start))) {
            start++;
        }
        while (end > start && isSpace(value.charAt(end - 1))) {
            end--;
        }
        return value.substring(start, end);
    }

    private static boolean isSpace(char c) {
        return c == ' ' || c == '\t';
    }

    private static void verifyName(String name) throws BadResponseException {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean letterOrDigit = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9';
            if (!letterOrDigit && TOKEN_MARKS.indexOf(c) < 0) {
                throw new BadResponseException("a header's name is no token: " + shown(name));
            }
        }
        if (name.isEmpty()) {
            throw new BadResponseException("a header without a name");
        }
    }

    private static void verifyValue(String name, String value) throws BadResponseException {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < ' ' && c != '\t' || c == 0x7F || c > 0xFF) {
                throw new BadResponseException("the value of " + shown(name) + " cannot be in a header");
            }
        }
    }

    /** Short, and without anything that a terminal or a log would act on. */
    static String shown(String name) {
        String start = name.length() > 40 ? name.substring(0, 40) + "..." : name;
        return "'" + start.replaceAll("[^ -~]", "?") + "'";
    }

    /** @param body as the function gave it, whether or not this response may have one */
    FunctionResponse response(int status, byte[] body, CharSequence method) {
        nominated.forEach(fields::remove);
        fields.status(AsciiString.of(Integer.toString(status)));
        boolean head = HEAD.contentEquals(method);
        boolean bodyless = status == 204 || status == 205 || status == 304 || head;
        if (status == 204) {
            fields.remove(HttpHeaderNames.CONTENT_LENGTH);
        } else if (status == 205) {
            fields.setInt(HttpHeaderNames.CONTENT_LENGTH, 0);
        } else if (!bodyless || head && status != 304 && body.length > 0) {
            fields.setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        } else {
            keepPlausibleLength();
        }
        return new FunctionResponse(fields, bodyless ? new byte[0] : body);
    }

    /** To HEAD, and with 304, it tells how long the body would be; only the function knows. */
    private void keepPlausibleLength() {
        CharSequence length = fields.get(HttpHeaderNames.CONTENT_LENGTH);
        boolean plausible = length != null
                && fields.getAll(HttpHeaderNames.CONTENT_LENGTH).size() == 1
                && length.toString().matches("\\d{1,18}");
        if (!plausible) {
            fields.remove(HttpHeaderNames.CONTENT_LENGTH);
        }
    }
}
