package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.ErrorCode;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A request for a handler that may block. */
public interface BlockingRequest {
    String method();

    /** With the query. */
    String path();

    Http2Headers headers();

    /**
     * Blocks until octets arrive. Throws {@link java.io.IOException} when the body broke off, {@link java.io.InterruptedIOException} when the thread was
     * interrupted. {@code transferTo} the response's stream passes octets on without a copy.
     */
    InputStream body();

    /** Empty until the body has been read to its end. */
    Http2Headers trailers();

    Optional<Duration> remaining();

    /** {@code null} while somebody wants the response. */
    @Nullable
    ErrorCode cancellation();
}
