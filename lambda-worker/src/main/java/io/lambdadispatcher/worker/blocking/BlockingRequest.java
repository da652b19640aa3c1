package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
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

    /**
     * What is left until the worker must go; empty while it need not. A handler of a stream without end looks now and then, and ends it in time.
     */
    Optional<Duration> grace();

    /**
     * Calls {@code listener}, once, when the worker begins to drain, with what {@link #grace} has left; at once if it does already. On an event loop, which the
     * listener must not block: it sets a flag, or interrupts whoever waits.
     */
    void onDrain(Consumer<Duration> listener);

    /** {@code null} while somebody wants the response. */
    @Nullable
    ErrorCode cancellation();
}
