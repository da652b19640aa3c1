package io.lambdadispatcher.wire.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/**
 * A short response that a dispatcher or a worker makes itself. It is usually one line of text.
 * Caches do not keep it.
 *
 * @param head with {@code :status}, {@code content-type}, {@code content-length}, {@code
 *     cache-control} and {@code x-content-type-options}; the caller may change it
 * @param body owned by the caller, who releases it instead of sending it if the request was a HEAD
 */
public record TextAnswer(Http2Headers head, ByteBuf body) {
    private static final AsciiString CONTENT_TYPE_OPTIONS = AsciiString.cached("x-content-type-options");
    private static final AsciiString NO_SNIFF = AsciiString.cached("nosniff");
    /**
     * Header of a response that a worker or a filter makes instead of the application, so that the
     * dispatcher adds what it adds to its own answers.
     */
    public static final AsciiString MARK = AsciiString.cached("lambda-dispatcher-answer");

    public static final AsciiString CONTENT_TYPE = AsciiString.cached("text/plain; charset=utf-8");

    /** @param line without a line end; made printable, see {@link PrintableText} */
    public static TextAnswer of(ByteBufAllocator allocator, HttpResponseStatus status, String line) {
        return of(status, CONTENT_TYPE, ByteBufUtil.writeUtf8(allocator, PrintableText.of(line) + '\n'));
    }

    /** @param contentType a valid value of a header */
    public static TextAnswer of(
            ByteBufAllocator allocator, HttpResponseStatus status, CharSequence contentType, byte[] body) {
        return of(
                status,
                AsciiString.of(contentType),
                allocator.buffer(body.length).writeBytes(body));
    }

    private static TextAnswer of(HttpResponseStatus status, AsciiString contentType, ByteBuf body) {
        FlatHeaders head = new FlatHeaders();
        head.status(status.codeAsText());
        head.addValid(HttpHeaderNames.CONTENT_TYPE, contentType);
        head.addValid(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(body.readableBytes())));
        head.addValid(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE);
        // The line can quote the client, so no browser may take it for a page.
        head.addValid(CONTENT_TYPE_OPTIONS, NO_SNIFF);
        return new TextAnswer(head, body);
    }
}
