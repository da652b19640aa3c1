package io.lambdadispatcher.it.awsdemo;

import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufOutputStream;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.OutputStream;
import java.util.function.Consumer;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** Whole responses. Any thread. */
final class Answers {
    private static final JsonFactory JSON = new JsonFactory();

    private Answers() {}

    static void text(Response response, int status, String text) {
        ByteBuf body = ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, text);
        response.respond(head(status, "text/plain; charset=utf-8", body.readableBytes()), body);
    }

    /** @param fields writes the fields of the one object that is the answer */
    static void json(Response response, Consumer<JsonGenerator> fields) {
        ByteBuf body = ByteBufAllocator.DEFAULT.buffer();
        try (JsonGenerator json =
                JSON.createGenerator(ObjectWriteContext.empty(), (OutputStream) new ByteBufOutputStream(body))) {
            json.writeStartObject();
            fields.accept(json);
            json.writeEndObject();
        }
        response.respond(head(200, "application/json", body.readableBytes()), body);
    }

    static Http2Headers head(int status, String contentType, long bytes) {
        return new DefaultHttp2Headers(false)
                .status(Integer.toString(status))
                .set(HttpHeaderNames.CONTENT_TYPE, contentType)
                .set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(bytes));
    }
}
