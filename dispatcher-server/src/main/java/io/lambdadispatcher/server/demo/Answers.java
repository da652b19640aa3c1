package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.wire.http.TextAnswer;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;

/** Creates and sends complete responses. */
final class Answers {
    static final AsciiString TEXT = TextAnswer.CONTENT_TYPE;
    static final AsciiString JSON = AsciiString.cached("application/json");
    static final AsciiString OK = AsciiString.cached("200");

    private Answers() {}

    /** A response that is the same for every request. Its body is never copied or released. */
    record Fixed(Http2Headers head, ByteBuf body) {
        static Fixed of(AsciiString status, AsciiString contentType, byte[] content) {
            ByteBuf direct =
                    Unpooled.directBuffer(content.length, content.length).writeBytes(content);
            return new Fixed(
                    Answers.head(status, contentType, content.length),
                    Unpooled.unreleasableBuffer(direct.asReadOnly()));
        }

        static Fixed text(AsciiString status, String text) {
            return of(status, TEXT, text.getBytes(StandardCharsets.UTF_8));
        }

        void send(Request request, Response response) {
            answer(request, response, head, body.duplicate());
        }
    }

    static Http2Headers head(AsciiString status, AsciiString contentType, int bytes) {
        return head(status, contentType).set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(bytes)));
    }

    static Http2Headers head(AsciiString status, AsciiString contentType) {
        return new DefaultHttp2Headers(false).status(status).set(HttpHeaderNames.CONTENT_TYPE, contentType);
    }

    static void text(Request request, Response response, AsciiString status, String text) {
        ByteBuf body = ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, text);
        answer(request, response, head(status, TEXT, body.readableBytes()), body);
    }

    /**
     * Sends a response without its body if the request's method is HEAD.
     *
     * @param body always released
     */
    static void answer(Request request, Response response, Http2Headers head, ByteBuf body) {
        if (HttpMethod.HEAD.asciiName().contentEquals(request.method())) {
            body.release();
            response.respond(head);
        } else {
            response.respond(head, body);
        }
    }
}
