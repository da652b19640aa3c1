package com.example.aws;

import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/** Response headers, and complete responses. */
final class Answers {
    private static final AsciiString TEXT = AsciiString.cached("text/plain; charset=utf-8");
    private static final AsciiString JSON = AsciiString.cached("application/json");

    private Answers() {}

    static void text(Response response, int status, String text) {
        respond(response, status, TEXT, text + "\n");
    }

    static void json(Response response, String json) {
        respond(response, 200, JSON, json);
    }

    private static void respond(Response response, int status, AsciiString type, String content) {
        ByteBuf body = ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, content);
        response.respond(head(status, type, body.readableBytes()), body);
    }

    static Http2Headers head(int status, AsciiString type, long bytes) {
        return new DefaultHttp2Headers(false)
                .status(Integer.toString(status))
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .setLong(HttpHeaderNames.CONTENT_LENGTH, bytes);
    }
}
