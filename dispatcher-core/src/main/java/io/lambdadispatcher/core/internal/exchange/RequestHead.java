package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The headers of a request, and what follows from them. Serves one request after the other, as its
 * exchange does. Client's event loop only.
 */
final class RequestHead {
    /** With this header, a client says that its request can be repeated. */
    private static final AsciiString IDEMPOTENCY_KEY = AsciiString.cached("idempotency-key");

    /** The media type of server-sent events. Each client of them accepts it. */
    private static final AsciiString EVENT_STREAM = HttpHeaderValues.TEXT_EVENT_STREAM;

    /** Memory of the objects of a header, without its characters. */
    private static final int FIELD_BYTES = 96;

    /** Clients can send paths of 64 KiB, and a snapshot may list many requests. */
    private static final int SNAPSHOT_CHARACTERS = 512;

    private Http2Headers fields = EmptyHttp2Headers.INSTANCE;
    private boolean bodyless;

    /** Looked up once, because the headers have left the processor's cache when it is asked for. */
    private boolean tunnel;

    /** Memory of the headers, in bytes; 0 if not calculated yet. */
    private int bytes;

    void reset(Http2Headers headers, boolean withoutBody) {
        fields = headers;
        bodyless = withoutBody;
        tunnel = Methods.isConnect(headers.method());
        bytes = 0;
    }

    Http2Headers fields() {
        return fields;
    }

    /** Continues with these, which a try was sent with. */
    void set(Http2Headers headers) {
        fields = headers;
    }

    /** Returns a copy, because another event loop may still read these headers. */
    Http2Headers copy() {
        return new FlatHeaders().add(fields);
    }

    boolean isBodyless() {
        return bodyless;
    }

    boolean asksForTunnel() {
        return tunnel;
    }

    /**
     * Returns whether the exchange probably lasts until its worker or its client ends it: a tunnel,
     * or server-sent events.
     */
    boolean lastsLong() {
        CharSequence accepted = tunnel ? null : fields.get(HttpHeaderNames.ACCEPT);
        return tunnel || accepted != null && AsciiString.containsIgnoreCase(accepted, EVENT_STREAM);
    }

    /**
     * Returns whether sending the request twice has the effect of sending it once: its method is
     * idempotent (RFC 9110 section 9.2.2), or the client has given it a key by which the handler
     * recognizes it.
     */
    boolean isIdempotent() {
        return Methods.isIdempotent(fields.method()) || fields.contains(IDEMPOTENCY_KEY);
    }

    /** Returns the method for a snapshot. */
    String methodText() {
        return start(fields.method(), fields.method().length());
    }

    /** Returns the path without the query for a snapshot. */
    String pathText() {
        CharSequence path = fields.path();
        int query = AsciiString.indexOf(path, '?', 0);
        return start(path, query < 0 ? path.length() : query);
    }

    /**
     * Returns the value of a header for a snapshot; {@code null} if the request does not have it.
     *
     * @param name {@code null} = no header
     */
    @Nullable
    String textOf(@Nullable CharSequence name) {
        CharSequence value = name == null ? null : fields.get(name);
        return value == null ? null : start(value, value.length());
    }

    private static String start(CharSequence text, int end) {
        String all = HeaderText.decode(text.subSequence(0, end));
        return all.substring(0, Math.min(all.length(), SNAPSHOT_CHARACTERS));
    }

    /** Returns the memory of the headers, in bytes. */
    int bytes() {
        if (bytes == 0) {
            bytes = bytesOf(fields);
        }
        return bytes;
    }

    /** Returns the memory of headers or trailers, in bytes. */
    static int bytesOf(Http2Headers fields) {
        int sum = 0;
        for (Map.Entry<CharSequence, CharSequence> field : fields) {
            sum += FIELD_BYTES + field.getKey().length() + field.getValue().length();
        }
        return sum;
    }
}
