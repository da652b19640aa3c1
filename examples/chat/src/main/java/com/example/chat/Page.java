package com.example.chat;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** A file of the page, in memory. */
record Page(String type, byte[] data) {
    static Page load(String name, String type) {
        try (InputStream in = Page.class.getResourceAsStream("/page/" + name)) {
            if (in == null) {
                throw new IllegalStateException("/page/" + name + " is not on the class path");
            }
            return new Page(type + "; charset=utf-8", in.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void send(Request request, Response response) {
        Http2Headers head = head(200, type, data.length)
                .set(HttpHeaderNames.CONTENT_SECURITY_POLICY, "default-src 'self'; style-src 'unsafe-inline'");
        if (request.method().toString().equals("HEAD")) {
            response.respond(head);
        } else {
            response.respond(head, Unpooled.wrappedBuffer(data));
        }
    }

    static void refuse(Response response, int status, String text) {
        byte[] data = (text + "\n").getBytes(StandardCharsets.UTF_8);
        response.respond(head(status, "text/plain; charset=utf-8", data.length), Unpooled.wrappedBuffer(data));
    }

    private static Http2Headers head(int status, String type, int bytes) {
        return new DefaultHttp2Headers(false)
                .status(Integer.toString(status))
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(bytes));
    }
}
