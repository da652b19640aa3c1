package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.TextAnswers;
import io.netty.handler.codec.http.HttpResponseStatus;

/**
 * Where a request comes from, and so what its fields may claim, and whom the relay tells that the
 * application gives no answer.
 */
enum Origin {
    /** A client, by a worker stream. */
    STREAM,
    /** A client, as the event of an ordinary invocation. */
    HTTP_EVENT,
    /**
     * No client: any other event, and what the worker itself has to say. Its sender knows success
     * and failure, and success is the application's alone to tell.
     */
    EVENT;

    /** A client's own fields that say of which invocation it is are not for the application. */
    boolean mayHave(CharSequence name) {
        return this != STREAM || !WebEvent.isContext(name);
    }

    /**
     * Ends the response with what the relay itself has to say, which must not be taken for the
     * application's word.
     */
    void answer(Request request, Response response, HttpResponseStatus status, String detail) {
        if (this == EVENT) {
            response.fail(FailureReason.HANDLER_FAILED, detail);
        } else {
            TextAnswers.send(request, response, status, detail);
        }
    }
}
