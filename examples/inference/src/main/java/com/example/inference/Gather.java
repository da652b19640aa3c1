package com.example.inference;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.function.Consumer;

/**
 * Collects a complete request body in memory, for handlers that need all of it. Confined to the
 * request's event loop.
 */
final class Gather implements BodyReader {
    private final ByteArrayOutputStream body = new ByteArrayOutputStream(1024);
    private final Response response;
    private final Consumer<byte[]> whole;

    private Gather(Response response, Consumer<byte[]> whole) {
        this.response = response;
        this.whole = whole;
    }

    /** @param whole called once with the body, unless the body is incomplete */
    static void read(Request request, Response response, Consumer<byte[]> whole) {
        request.body().read(new Gather(response, whole));
    }

    @Override
    public void onData(ByteBuf bytes) throws IOException {
        try {
            bytes.readBytes(body, bytes.readableBytes());
        } finally {
            bytes.release();
        }
    }

    @Override
    public void onEnd(Http2Headers trailers) {
        whole.accept(body.toByteArray());
    }

    @Override
    public void onFailed(FailureReason code) {
        response.fail(code, "the request's body is incomplete");
    }
}
