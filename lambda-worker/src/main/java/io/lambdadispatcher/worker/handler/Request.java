package io.lambdadispatcher.worker.handler;

import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A request as it arrives. All methods but {@link #remaining} and {@link #cancellation} belong on {@link #eventLoop}. */
public interface Request {
    /** With the pseudo header fields of HTTP/2; HTTP/1.1 has been translated. The handler may keep it. */
    Http2Headers headers();

    default CharSequence method() {
        CharSequence method = headers().method();
        return method == null ? "" : method;
    }

    /** With the query, as the client sent it; {@code *} for OPTIONS of the server. */
    default String path() {
        CharSequence path = headers().path();
        return path == null ? "" : path.toString();
    }

    /**
     * Returns the first value of a header, or {@code null} if there is none.
     *
     * @param name in any case
     */
    default @Nullable String header(CharSequence name) {
        CharSequence value = headers().get(AsciiString.of(name).toLowerCase());
        return value == null ? null : value.toString();
    }

    RequestBody body();

    /** Until the dispatcher gives up on the response, zero at least; empty where there is no limit, as in an open tunnel. Any thread. */
    Optional<Duration> remaining();

    /**
     * Calls {@code listener} on the event loop, once, when the worker begins to drain: its deadline is near, the dispatcher wants it to go or goes itself, or its
     * process is told to end. At once if it drains already; never after the response has ended. The response still goes on, for as long as the listener is given; what
     * is left of it then is broken off. So this is when a stream that would go on for ever says goodbye: a last event, a WebSocket's close frame. Replaces the listener
     * before.
     */
    void onDrain(Consumer<Duration> listener);

    /**
     * Calls {@code listener} on the event loop, once, when nobody wants the response any more: the client has gone, the deadline has passed or
     * the connection is lost. At once if that is so already; never after the response has ended. By then the response is closed, and what is
     * written to it is dropped.
     */
    void onCancel(Consumer<FailureReason> listener);

    /** Why nobody wants the response any more; {@code null} while somebody does. Any thread. */
    @Nullable
    FailureReason cancellation();

    /** Of the connection; for timers and for going back to the loop. */
    ScheduledExecutorService eventLoop();
}
