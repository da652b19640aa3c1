package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.TextAnswers;
import io.netty.handler.codec.http.HttpResponseStatus;

/**
 * Where a request comes from. The origin decides which headers the application may receive, and how
 * the relay reports that the application does not respond.
 */
enum Origin {
    /** A client's request, received on a worker stream. */
    STREAM,
    /** A client's request, received as the event of an ordinary invocation. */
    HTTP_EVENT,
    /**
     * A request without a client: any other event, or a notice of the worker itself. Its sender
     * distinguishes only success and failure, and only the application may report success.
     */
    EVENT;

    /**
     * Returns whether a request may have this header. Clients on worker streams must not send the
     * headers that describe an invocation.
     */
    boolean mayHave(CharSequence name) {
        return this != STREAM || !WebEvent.isContext(name);
    }

    /**
     * Ends the response with a message of the relay itself. For an {@link #EVENT}, the response
     * fails instead, because a text response would look like one of the application.
     *
     * @param detail with status 502, it is only logged, because it can name addresses and contain
     *     texts of exceptions. With another status, it says what is wrong with the request
     */
    void answer(Request request, Response response, HttpResponseStatus status, String detail) {
        if (this == EVENT) {
            response.fail(FailureReason.HANDLER_FAILED, detail);
        } else if (status.equals(HttpResponseStatus.BAD_GATEWAY)) {
            FailureLog.report("the app", request, new IllegalStateException(detail));
            TextAnswers.send(request, response, status, "the application gave no valid response");
        } else {
            TextAnswers.send(request, response, status, detail);
        }
    }
}
