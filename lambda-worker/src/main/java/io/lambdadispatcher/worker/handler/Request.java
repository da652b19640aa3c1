package io.lambdadispatcher.worker.handler;

import io.lambdadispatcher.wire.http.HeaderText;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request as it arrives. Its body may still be on its way.
 *
 * <p><b>Threading.</b> All methods must be called on {@link #eventLoop}, except {@link #remaining}
 * and {@link #cancellation}.
 */
public interface Request {
    /**
     * Returns the headers and HTTP/2's pseudo-headers, whichever HTTP version the client speaks.
     * The handler may keep them. Each character of a value is one byte. {@link #header} and {@link
     * #path} return text.
     */
    Http2Headers headers();

    /** Returns the method, for example {@code GET}. */
    default CharSequence method() {
        CharSequence method = headers().method();
        return method == null ? "" : method;
    }

    /**
     * Returns the path with the query as text, as the client sent it. It is {@code *} for OPTIONS
     * of the whole server.
     */
    default String path() {
        CharSequence path = headers().path();
        return path == null ? "" : HeaderText.decode(path);
    }

    /**
     * Returns the first value of a header as text: UTF-8, or ISO 8859-1 if it is not valid UTF-8.
     * {@code null} if there is none.
     *
     * @param name in any case
     */
    default @Nullable String header(CharSequence name) {
        CharSequence value = headers().get(AsciiString.of(name).toLowerCase());
        return value == null ? null : HeaderText.decode(value);
    }

    /**
     * Returns the body, which nothing is read of until {@link RequestBody#read} or {@link
     * RequestBody#readAll}.
     */
    RequestBody body();

    /**
     * Returns the time that is left until the dispatcher ends the request, zero or more. Empty if
     * there is no limit, as in an open tunnel. Any thread.
     */
    Optional<Duration> remaining();

    /**
     * Sets a listener that is called once when the worker begins to drain: its deadline is near,
     * the dispatcher shuts down or needs fewer workers, or the process is told to end. It is called
     * immediately if the worker already drains, and never after the response has ended.
     *
     * <p>The response may continue for the duration that the listener receives. After that, it is
     * broken off. Use it to end streams that would otherwise never end, for example with a last
     * event or a WebSocket's close frame. Replaces the previous listener.
     */
    void onDrain(Consumer<Duration> listener);

    /**
     * Sets a listener that is called once when nobody wants the response any more: the client has
     * disconnected, the deadline has passed, or the connection is lost. It is called immediately if
     * that has already happened, and never after the response has ended. By then the response is
     * closed, and what is written to it is dropped. Replaces the previous listener.
     */
    void onCancel(Consumer<FailureReason> listener);

    /**
     * Returns why nobody wants the response any more, or {@code null} if somebody does. Any thread.
     */
    @Nullable
    FailureReason cancellation();

    /**
     * Returns the event loop of the connection, for timers and for returning to it from other
     * threads.
     */
    ScheduledExecutorService eventLoop();
}
