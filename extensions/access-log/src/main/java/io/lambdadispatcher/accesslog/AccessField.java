package io.lambdadispatcher.accesslog;

import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.observe.Substitute;
import java.util.Locale;

/**
 * A field of the access log. A line has the field's name in lower case, and leaves it out if the
 * request has no such value. Times are in microseconds.
 */
public enum AccessField {
    /** When the request ended, in UTC. */
    TIME,
    /** The name of the function. */
    FUNCTION,
    /** The id of the worker that received the request last. */
    WORKER,
    /** The kind of this worker: {@code base} or {@code launched}. */
    WORKER_KIND,
    /** The client's address, without the port: the peer, or what a trusted proxy names. */
    CLIENT,
    /** The client's certificate, if the port requires one: {@code x-forwarded-client-cert}. */
    CLIENT_CERTIFICATE,
    /** The header {@code x-forwarded-for} as the worker received it. */
    FORWARDED_FOR,
    /** The client's protocol: {@code http/1.1}, {@code h2}, or {@code embedded}. */
    PROTOCOL,
    /** The method. */
    METHOD,
    /** The host, and the port if the client named one. */
    HOST,
    /** The path and the query. */
    PATH,
    /** The header {@code user-agent}. */
    USER_AGENT,
    /** The status of the response, or 0 if there was none. */
    STATUS,
    /** {@code completed}, {@code cancelled} or {@code failed}. */
    OUTCOME,
    /** The token of the failure. */
    FAILURE,
    /** What happened in a failure. The client does not get it. */
    FAILURE_DETAIL,
    /** Why the request was queued. */
    WAIT_REASON,
    /** Which worker affinity chose: {@link SessionResult} in lower case. */
    SESSION,
    /** What answered instead of a worker: {@link Substitute} in lower case. */
    SUBSTITUTE,
    /** The function whose request was copied, if the request is a copy that no client waits for. */
    SHADOW_OF,
    /** How the dispatcher has compressed the response: {@code gzip}, {@code br} or {@code zstd}. */
    CONTENT_ENCODING,
    /** The id of the request, if requests have ids. */
    REQUEST_ID,
    /** The trace id in the header {@code traceparent}. */
    TRACE_ID,
    /** The size of the request's body, in bytes. */
    REQUEST_BYTES,
    /** The size of the response's body before it was compressed, in bytes. */
    RESPONSE_BYTES,
    /** Time in the queue. */
    QUEUE_US,
    /** Time until the headers of the response were passed on. */
    FIRST_BYTE_US,
    /** Time from the first attempt until the end. */
    WORKER_US,
    /** Time of the handler, for traced requests. */
    HANDLER_US,
    /** Time from arrival until the end. */
    TOTAL_US,
    /** How often the request was given to a worker. */
    ATTEMPTS,
    /** Why the request was given to more than one worker: reasons, separated by commas. */
    EXTRA_ATTEMPTS,
    /** Why the request was not sent again after an attempt failed or was slow. */
    RETRY_DENIAL;

    private final String key = name().toLowerCase(Locale.ROOT);

    /** Returns the name in a line. */
    public String key() {
        return key;
    }
}
