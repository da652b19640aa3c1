package io.lambdadispatcher.bench.endtoend;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.ReadOnlyHttp2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/**
 * A response that is the same for each request. The body is never released; {@link #body()} returns
 * reference-counted views of it.
 */
enum Resource {
    PING(200, "text/plain", "pong".getBytes(StandardCharsets.US_ASCII)),
    /** Has the size of the demo's image. The content makes no difference to a proxy. */
    IMAGE(200, "image/jpeg", random(168_161)),
    NOT_FOUND(404, "text/plain", new byte[0]);

    final int status;
    final AsciiString mediaType;
    final AsciiString length;
    final Http2Headers head;
    private final ByteBuf data;

    Resource(int status, String mediaType, byte[] content) {
        this.status = status;
        this.mediaType = AsciiString.cached(mediaType);
        this.length = AsciiString.cached(Integer.toString(content.length));
        this.data = direct(content);
        this.head = ReadOnlyHttp2Headers.serverHeaders(
                false,
                AsciiString.cached(Integer.toString(status)),
                HttpHeaderNames.CONTENT_TYPE,
                this.mediaType,
                HttpHeaderNames.CONTENT_LENGTH,
                length);
    }

    static Resource at(CharSequence path) {
        if (AsciiString.contentEquals(path, "/ping")) {
            return PING;
        }
        return AsciiString.contentEquals(path, "/public/silly-test-image.jpg") ? IMAGE : NOT_FOUND;
    }

    /** Returns whether the response to this path is the request's body, and not a resource. */
    static boolean isEcho(CharSequence path) {
        return AsciiString.contentEquals(path, "/echo");
    }

    ByteBuf body() {
        return data.retainedDuplicate();
    }

    int size() {
        return data.readableBytes();
    }

    private static byte[] random(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return content;
    }

    private static ByteBuf direct(byte[] content) {
        return Unpooled.unreleasableBuffer(Unpooled.directBuffer(Math.max(1, content.length))
                .writeBytes(content)
                .asReadOnly());
    }
}
