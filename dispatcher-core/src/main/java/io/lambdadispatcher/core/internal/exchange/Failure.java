package io.lambdadispatcher.core.internal.exchange;

import io.netty.handler.codec.http.HttpResponseStatus;

/**
 * Why there is no (whole) response.
 *
 * @param detail for the client and for logs: what happened, in one line, nothing secret
 */
public record Failure(Kind kind, String detail) {

    /** The failure table: what a client sees where no head has been sent yet. */
    public enum Kind {
        NO_FUNCTION(HttpResponseStatus.NOT_FOUND, false),
        BAD_REQUEST(HttpResponseStatus.BAD_REQUEST, false),
        /** The direct path: an event has no place for a tunnel. */
        NO_TUNNELS(HttpResponseStatus.NOT_IMPLEMENTED, false),
        /** The program's own router threw. */
        ROUTER_FAILED(HttpResponseStatus.INTERNAL_SERVER_ERROR, false),
        HANDLER_FAILED(HttpResponseStatus.INTERNAL_SERVER_ERROR, false),
        /**
         * The handler broke its response off as one that nobody wants, e.g. because the server that
         * it relays to did.
         */
        HANDLER_CANCELLED(HttpResponseStatus.INTERNAL_SERVER_ERROR, false),
        WORKER_LOST(HttpResponseStatus.BAD_GATEWAY, false),
        BAD_RESPONSE(HttpResponseStatus.BAD_GATEWAY, false),
        QUEUE_FULL(HttpResponseStatus.SERVICE_UNAVAILABLE, true),
        QUEUE_TIMEOUT(HttpResponseStatus.SERVICE_UNAVAILABLE, true),
        /**
         * The direct path: the body, or the event made of it, is larger than a function can take.
         */
        TOO_LARGE(HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE, false),
        /** The direct path: the function has not begun, for too many run at once. */
        THROTTLED(HttpResponseStatus.SERVICE_UNAVAILABLE, true),
        /** The direct path: the function ended with an error, its own timeout included. */
        FUNCTION_FAILED(HttpResponseStatus.BAD_GATEWAY, false),
        /** The direct path: the function could not be invoked. */
        INVOKE_FAILED(HttpResponseStatus.BAD_GATEWAY, false),
        /**
         * The dispatcher has no memory for the request, or its client keeps a worker stream from
         * others.
         */
        OVERLOADED(HttpResponseStatus.SERVICE_UNAVAILABLE, true),
        SHUTTING_DOWN(HttpResponseStatus.SERVICE_UNAVAILABLE, true),
        TIMEOUT(HttpResponseStatus.GATEWAY_TIMEOUT, false);

        private final HttpResponseStatus status;
        private final boolean retryAfter;

        Kind(HttpResponseStatus status, boolean retryAfter) {
            this.status = status;
            this.retryAfter = retryAfter;
        }

        public HttpResponseStatus status() {
            return status;
        }

        /**
         * The request was not tried: the client may come again, and is told when with {@code
         * retry-after}.
         */
        public boolean hasRetryAfter() {
            return retryAfter;
        }
    }
}
