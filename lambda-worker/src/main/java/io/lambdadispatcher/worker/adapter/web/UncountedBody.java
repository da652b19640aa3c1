package io.lambdadispatcher.worker.adapter.web;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request without a content-length, until the request is sent to the application. If
 * it is complete by then, the application is told its length: many servers read no body that has
 * none, because CGI and WSGI have only CONTENT_LENGTH (RFC 3875 section 4.1.2, PEP 3333).
 *
 * <p><b>Buffers.</b> The parts belong to this object until {@link #passTo} or {@link #release}.
 * Confined to an event loop.
 */
final class UncountedBody {
    /**
     * How long a request waits for the end of its body, in milliseconds. The end of a small body
     * usually arrives together with the headers. An application that must answer to a part of the
     * body gets it so much later.
     */
    static final long WAIT_MILLIS = 10;

    /** The maximum that is held of a body. It is also the window of a worker stream. */
    static final int MAX_BYTES = 256 * 1024;

    private final Queue<ByteBuf> parts = new ArrayDeque<>(2);
    private int bytes;
    private @Nullable Http2Headers trailers;

    void add(ByteBuf part) {
        bytes += part.readableBytes();
        parts.add(part);
    }

    void end(Http2Headers withTrailers) {
        trailers = withTrailers;
    }

    boolean isFull() {
        return bytes > MAX_BYTES;
    }

    /** Returns the length in bytes; -1 if unknown, or if trailers follow, which need chunks. */
    int length() {
        return trailers != null && trailers.isEmpty() ? bytes : -1;
    }

    /** Passes on what was held. @return whether that is all */
    boolean passTo(Http1Exchange exchange) {
        for (ByteBuf part = parts.poll(); part != null; part = parts.poll()) {
            exchange.onData(part);
        }
        if (trailers != null) {
            exchange.onEnd(trailers);
        }
        return trailers != null;
    }

    void release() {
        parts.forEach(ByteBuf::release);
        parts.clear();
    }
}
