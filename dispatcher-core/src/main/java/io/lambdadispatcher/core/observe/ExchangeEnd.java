package io.lambdadispatcher.core.observe;

import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A request and its response after the end.
 *
 * <p><b>Threading.</b> Use it only on the event loop, and only during {@link
 * ExchangeListener#onEnd}. Afterwards, the dispatcher uses the object for another request. Keep a
 * {@link #copy} instead.
 *
 * <p>A WebSocket is reported when it has been closed. Its method is CONNECT, whichever HTTP version
 * its client speaks, and its status is 200 if it was opened.
 */
public interface ExchangeEnd {
    /**
     * Returns the name of the function. Returns {@code null} if no route matched, or if the request
     * was refused before it was routed.
     */
    @Nullable
    String function();

    /**
     * Returns the id of the worker that received the request last. Returns {@code null} if the
     * request never reached a worker, or was last sent as a direct invocation.
     */
    @Nullable
    String workerId();

    /**
     * Returns the kind of the worker that received the request last. Returns {@code null} if {@link
     * #workerId} does.
     */
    default @Nullable WorkerKind workerKind() {
        return null;
    }

    /**
     * Returns the request's headers and pseudo-headers as the worker received them. They must not
     * be changed.
     */
    Http2Headers headers();

    /**
     * Returns the remote address of the client's connection. Returns {@code null} for requests of
     * {@code Dispatcher.dispatch}.
     */
    default @Nullable SocketAddress remoteAddress() {
        return null;
    }

    /** Returns how the request reached the dispatcher. */
    default ClientProtocol protocol() {
        return ClientProtocol.EMBEDDED;
    }

    /**
     * Returns the method as the client sent it. It can be any token (RFC 9110 section 5.6.2),
     * except that a WebSocket's is CONNECT.
     */
    default CharSequence method() {
        return headers().method();
    }

    /** Returns the path and query as the client sent them. */
    default CharSequence path() {
        return headers().path();
    }

    /**
     * Returns the status of the response, 200 to 999. Returns 0 if the exchange ended before there
     * was one, for example because the client disconnected. If the outcome is {@link
     * Outcome#FAILED}, it is the status of the dispatcher's own error response unless the response
     * had already begun.
     */
    int status();

    /** Returns how the exchange ended. */
    Outcome outcome();

    /**
     * Returns the token of the failure, for example {@code queue_full}. Returns {@code null} unless
     * the outcome is {@link Outcome#FAILED}. {@code docs/reference/failures.md} lists all tokens.
     */
    @Nullable
    String failure();

    /**
     * Returns what happened, in one printable line that can name workers and errors of AWS. The
     * client does not get it. Returns {@code null} unless there is a {@link #failure}.
     */
    default @Nullable String failureDetail() {
        return null;
    }

    /** Returns why the request was queued, or {@code null} if it never was. */
    default @Nullable WaitReason waitReason() {
        return null;
    }

    /**
     * Returns which worker affinity chose for the last attempt. Returns {@code null} if the
     * function has no affinity, the request has no key, or no worker was looked for.
     */
    default @Nullable SessionResult sessionResult() {
        return null;
    }

    /**
     * Returns what answered the client instead of a worker of the function. Returns {@code null} if
     * nothing did: then {@link #status} is what the client received.
     */
    default @Nullable Substitute substitute() {
        return null;
    }

    /**
     * Returns the name of the function whose request was copied. Returns {@code null} if this is no
     * copy. No client waits for a copy.
     */
    default @Nullable CharSequence shadowOf() {
        return headers().get("lambda-dispatcher-shadow");
    }

    /**
     * Returns how a filter has compressed the response, such as {@code gzip}. Returns {@code null}
     * if none has.
     */
    default @Nullable String contentEncoding() {
        return null;
    }

    /** Returns the size of the request's body that has arrived, in bytes. */
    long requestBytes();

    /**
     * Returns the size of the response's body that was passed on to the client's connection, in
     * bytes, before it was compressed. The client need not have received all of it.
     */
    long responseBytes();

    /**
     * Returns the time from the request's arrival until a worker or a direct invocation took it
     * first, in nanoseconds. If none did, it is the time until the end of the exchange.
     */
    long queueNanos();

    /**
     * Returns the time from the request's arrival until the response's headers were passed on to
     * the client's connection, in nanoseconds. Returns -1 if the dispatcher received no response.
     */
    default long firstByteNanos() {
        return -1;
    }

    /**
     * Returns the time from the request's arrival until the end of the exchange, in nanoseconds.
     */
    long totalNanos();

    /**
     * Returns the time from the request's arrival at the worker until the handler was called, in
     * nanoseconds. A blocking handler may wait for a thread. Returns -1 if the worker has not
     * reported it: workers do so for sampled requests ({@code docs/reference/protocol.md}, TIMING).
     */
    default long handlerWaitNanos() {
        return -1;
    }

    /**
     * Returns the time from the call of the handler until the response's end was written, in
     * nanoseconds. Returns -1 if the worker has not reported it.
     */
    default long handlerNanos() {
        return -1;
    }

    /**
     * Returns how often the request was given to a worker or a direct invocation, 0 or more. It is
     * more than 1 if the dispatcher retried or hedged the request.
     */
    int attempts();

    /** Returns how often the request was sent again for this reason. */
    default int extraAttempts(ExtraAttempt reason) {
        return 0;
    }

    /**
     * Returns why the request was not sent again after an attempt failed or was slow, or {@code
     * null} if there was no such decision. The last decision counts.
     */
    default @Nullable RetryDenial retryDenial() {
        return null;
    }

    /**
     * Returns whether this was an open tunnel, such as a WebSocket. Its duration does not tell how
     * fast a worker responds.
     */
    default boolean isTunnel() {
        return status() / 100 == 2 && "CONNECT".contentEquals(method());
    }

    /**
     * Returns an immutable copy, which can be kept and used by any thread. It keeps the request's
     * headers in memory. The default is for implementations that are immutable.
     */
    default ExchangeEnd copy() {
        return this;
    }
}
