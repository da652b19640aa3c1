package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.wire.http.TextAnswer;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;

/** Creates the responses of the admin port. The caller owns their heap buffers. Any thread. */
final class AdminAnswers {
    private static final AsciiString CONTENT_TYPE_OPTIONS = AsciiString.cached("x-content-type-options");
    private static final AsciiString NO_SNIFF = AsciiString.cached("nosniff");

    private AdminAnswers() {}

    /** Returns a text response that no cache stores and no browser interprets as HTML. */
    static FullHttpResponse text(HttpResponseStatus status, String text) {
        return of(status, TextAnswer.CONTENT_TYPE.toString(), text.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns a response with any content that no cache stores and no browser reinterprets. */
    static FullHttpResponse of(HttpResponseStatus status, String contentType, byte[] content) {
        FullHttpResponse answer =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(content));
        answer.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, contentType)
                .set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE)
                .set(CONTENT_TYPE_OPTIONS, NO_SNIFF)
                .setInt(HttpHeaderNames.CONTENT_LENGTH, content.length);
        return answer;
    }

    /** Returns the head of a response that consists of server-sent events and has no end. */
    static HttpResponse events() {
        HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
        head.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, HttpHeaderValues.TEXT_EVENT_STREAM)
                .set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE)
                .set(CONTENT_TYPE_OPTIONS, NO_SNIFF)
                .set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        return head;
    }

    /** Returns a text response with one more header. */
    static FullHttpResponse text(HttpResponseStatus status, String text, AsciiString header, String value) {
        FullHttpResponse answer = text(status, text);
        answer.headers().set(header, value);
        return answer;
    }
}
