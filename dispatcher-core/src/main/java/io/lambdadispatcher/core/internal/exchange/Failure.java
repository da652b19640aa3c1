package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The reason why there is no response, or only an incomplete one.
 *
 * @param detail what happened, in one line, for the operator: the access log, logs and embedding
 *     programs. It can name workers, addresses and errors of AWS, so a client gets {@link
 *     Kind#message} instead. Made printable and cut; contains no secrets
 * @param retryAfterSeconds when the client should send the request again, as {@code retry-after}; 0
 *     = the request may have been tried, so the response has no such header
 * @param quota the quota that the request would have exceeded; {@code null} = none
 */
public record Failure(
        Kind kind,
        String detail,
        int retryAfterSeconds,
        @Nullable Quota quota) {

    /**
     * A quota of requests, for the header fields of draft-ietf-httpapi-ratelimit-headers-11.
     *
     * @param policy names the quota: ASCII without quotation marks and backslashes
     */
    public record Quota(String policy, int requests, long windowSeconds) {
        /** Returns the value of {@code ratelimit-policy}. */
        public String policyField() {
            return '"' + policy + "\";q=" + requests + ";w=" + windowSeconds;
        }

        /**
         * Returns the value of {@code ratelimit} while nothing is left of the quota.
         *
         * @param seconds time until there is
         */
        public String usedUpField(int seconds) {
            return '"' + policy + "\";r=0;t=" + seconds;
        }
    }

    /** Handlers and peers wrote some of the details, and embedding programs log them. */
    public Failure {
        detail = PrintableText.ofFailure(detail);
    }

    /** Creates a failure after which a client may retry after a time. */
    public Failure(Kind kind, String detail, int retryAfterSeconds) {
        this(kind, detail, retryAfterSeconds, null);
    }

    /** Creates a failure after which a client may retry after 1 s, if its kind permits it. */
    public Failure(Kind kind, String detail) {
        this(kind, detail, kind.wasNotTried ? 1 : 0);
    }

    /** Returns whether no handler has begun, so that the client may send any request again. */
    public boolean wasNotTried() {
        return retryAfterSeconds > 0;
    }

    /** Returns the same failure of a request of which an earlier attempt may have had an effect. */
    Failure afterAttempt() {
        return new Failure(kind, detail, 0, quota);
    }

    /** The table of failures: what a client receives if it has no response headers yet. */
    public enum Kind {
        NO_FUNCTION(HttpResponseStatus.NOT_FOUND, false, "no function matches the request"),
        BAD_REQUEST(
                HttpResponseStatus.BAD_REQUEST,
                false,
                "the headers are too large or not permitted, or the path has more than one reading"),
        /** The request has passed so many dispatchers that it seems to run in a loop (RFC 8586). */
        LOOP_DETECTED(HttpResponseStatus.valueOf(508, "Loop Detected"), false, "the request seems to run in a loop"),
        /** Direct requests, and handlers of this process: neither can describe a tunnel. */
        NO_TUNNELS(HttpResponseStatus.NOT_IMPLEMENTED, false, "the function supports no WebSockets"),
        /** The embedding program's router threw an exception. */
        ROUTER_FAILED(HttpResponseStatus.INTERNAL_SERVER_ERROR, false, "the router failed"),
        /** A filter of the program threw an exception, or did not decide in time. */
        FILTER_FAILED(HttpResponseStatus.INTERNAL_SERVER_ERROR, false, "a filter failed"),
        HANDLER_FAILED(HttpResponseStatus.INTERNAL_SERVER_ERROR, false, "the handler failed"),
        /**
         * The handler cancelled its response, for example because the server that it relays to did.
         */
        HANDLER_CANCELLED(HttpResponseStatus.INTERNAL_SERVER_ERROR, false, "the handler cancelled the response"),
        WORKER_LOST(HttpResponseStatus.BAD_GATEWAY, false, "the worker was lost or refused the request"),
        BAD_RESPONSE(HttpResponseStatus.BAD_GATEWAY, false, "the handler's response is malformed"),
        QUEUE_FULL(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "too many requests are queued"),
        QUEUE_TIMEOUT(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "no worker was free in time"),
        /** The client, or all clients of the route, have used up their rate limit. */
        RATE_LIMITED(HttpResponseStatus.TOO_MANY_REQUESTS, true, "the rate limit is used up"),
        /** The tenant has as many requests in flight as it may. */
        TENANT_LIMITED(HttpResponseStatus.TOO_MANY_REQUESTS, true, "too many requests of this tenant are in flight"),
        /** The route has as many requests in flight as it may. */
        BULKHEAD_FULL(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "too many requests are in flight"),
        /** Requests of this priority would wait, or have waited, for too long. */
        SHED(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "too many requests of this priority are queued"),
        /** The breaker of the route is open, because too many requests failed. */
        BREAKER_OPEN(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "too many recent requests failed or were slow"),
        /** No worker is connected or starting, and launches are blocked. */
        LAUNCHES_BLOCKED(
                HttpResponseStatus.SERVICE_UNAVAILABLE, true, "no worker is connected, and none is started now"),
        /** Direct requests only: the body, or its event, is larger than the function accepts. */
        TOO_LARGE(HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE, false, "the request is too large for the function"),
        /**
         * Direct requests only: the function has not started, because too many invocations are in
         * flight.
         */
        THROTTLED(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "the function is throttled"),
        /** Direct requests only: the function ended with an error, including its own timeout. */
        FUNCTION_FAILED(HttpResponseStatus.BAD_GATEWAY, false, "the function failed"),
        /** Direct requests only: the function could not be invoked. */
        INVOKE_FAILED(HttpResponseStatus.BAD_GATEWAY, false, "the function could not be invoked"),
        /**
         * The dispatcher has no memory for the request, or the client occupies worker streams that
         * others need.
         */
        OVERLOADED(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "the dispatcher is overloaded"),
        SHUTTING_DOWN(HttpResponseStatus.SERVICE_UNAVAILABLE, true, "the dispatcher shuts down"),
        /** The client wants only a stored response, and there is none. */
        ONLY_IF_CACHED(
                HttpResponseStatus.GATEWAY_TIMEOUT, false, "no response is stored, and the request is only-if-cached"),
        TIMEOUT(HttpResponseStatus.GATEWAY_TIMEOUT, false, "no complete response in time"),
        /** The client or the route wants no response later than this. */
        DEADLINE_EXCEEDED(HttpResponseStatus.GATEWAY_TIMEOUT, false, "no complete response within the deadline");

        private final HttpResponseStatus status;
        private final boolean wasNotTried;
        private final String message;
        private final String token = name().toLowerCase(Locale.ROOT);

        Kind(HttpResponseStatus status, boolean wasNotTried, String message) {
            this.status = status;
            this.wasNotTried = wasNotTried;
            this.message = message;
        }

        /** Returns the name in lower case, as clients, logs, metrics and traces show it. */
        public String token() {
            return token;
        }

        /** Returns what HTTP clients are told. It is in {@code docs/reference/failures.md}. */
        public String message() {
            return message;
        }

        public HttpResponseStatus status() {
            return status;
        }

        /**
         * Returns what the operator is told of such failures. Returns {@code null} if they are the
         * client's fault or intended.
         */
        public Incident.@Nullable Kind incident() {
            return switch (this) {
                case NO_FUNCTION, BAD_REQUEST, NO_TUNNELS, TOO_LARGE, ONLY_IF_CACHED, SHUTTING_DOWN -> null;
                default -> wasNotTried ? Incident.Kind.REQUESTS_REFUSED : Incident.Kind.REQUESTS_FAILED;
            };
        }
    }
}
