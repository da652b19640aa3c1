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

/** Request bodies on their way back, by reference, while they are still arriving. */
final class Echoes {
    private static final AsciiString OCTETS = AsciiString.cached("application/octet-stream");

    private Echoes() {}

    private static void head(Request request, Response response, boolean sameLength) {
        @Nullable CharSequence type = request.headers().get(HttpHeaderNames.CONTENT_TYPE);
        Http2Headers head = Answers.head(Answers.OK, type == null ? OCTETS : AsciiString.of(type));
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

    /** A pause after each part. */
    static void slow(Request request, Response response) {
        int delayMillis = Query.of(request.path()).number("delay", 100, DemoHandler.MOST_DELAY_MILLIS);
        head(request, response, true);
        new Pipe(request.body(), response) {
            @Override
            public void onData(ByteBuf octets) {
                response.write(octets);
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

    /** Each part twice. */
    static void twice(Request request, Response response) {
        head(request, response, false);
        new Pipe(request.body(), response) {
            @Override
            public void onData(ByteBuf octets) {
                response.write(octets.retainedDuplicate());
                pass(octets);
            }

            void begin() {
                start();
            }
        }.begin();
    }

    /** Of each part so many octets that half of what has come has gone, rounded down. */
    static void half(Request request, Response response) {
        head(request, response, false);
        new Pipe(request.body(), response) {
            private long received;
            private long sent;

            @Override
            public void onData(ByteBuf octets) {
                received += octets.readableBytes();
                int bytes = (int) (received / 2 - sent);
                sent += bytes;
                octets.writerIndex(octets.readerIndex() + bytes);
                pass(octets);
            }

            void begin() {
                start();
            }
        }.begin();
    }
}
