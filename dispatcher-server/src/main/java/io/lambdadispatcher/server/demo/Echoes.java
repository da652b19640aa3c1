package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends request bodies back while they still arrive, without copying them. */
final class Echoes {
    private static final AsciiString BINARY = AsciiString.cached("application/octet-stream");

    private Echoes() {}

    private static void head(Request request, Response response, boolean sameLength) {
        @Nullable CharSequence type = request.headers().get(HttpHeaderNames.CONTENT_TYPE);
        Http2Headers head = Answers.head(Answers.OK, type == null ? BINARY : AsciiString.of(type));
        CharSequence length = request.headers().get(HttpHeaderNames.CONTENT_LENGTH);
        if (sameLength && length != null) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, length);
        }
        response.head(head);
    }

    static void echo(Request request, Response response) {
        head(request, response, true);
        Pipe.connect(request.body(), response);
    }

    /** Pauses after each part. */
    static void slow(Request request, Response response) {
        int delayMillis = Query.of(request.path()).number("delay", 100, DemoHandler.MOST_DELAY_MILLIS);
        head(request, response, true);
        new Pipe(request.body(), response) {
            @Override
            public void onData(ByteBuf part) {
                response.write(part);
                request.body().pause();
                request.eventLoop().schedule(this::resumeIfWritable, delayMillis, TimeUnit.MILLISECONDS);
            }

            private void resumeIfWritable() {
                if (response.isWritable()) {
                    request.body().resume();
                }
            }

            void begin() {
                start();
            }
        }.begin();
    }

    /** Sends each part twice. */
    static void twice(Request request, Response response) {
        head(request, response, false);
        new Pipe(request.body(), response) {
            @Override
            public void onData(ByteBuf part) {
                response.write(part.retainedDuplicate());
                pass(part);
            }

            void begin() {
                start();
            }
        }.begin();
    }

    /**
     * Sends half of the body. After each part, it has sent half of the bytes received so far,
     * rounded down.
     */
    static void half(Request request, Response response) {
        head(request, response, false);
        new Pipe(request.body(), response) {
            private long received;
            private long sent;

            @Override
            public void onData(ByteBuf part) {
                received += part.readableBytes();
                int bytes = (int) (received / 2 - sent);
                sent += bytes;
                part.writerIndex(part.readerIndex() + bytes);
                pass(part);
            }

            void begin() {
                start();
            }
        }.begin();
    }
}
