package io.lambdadispatcher.server.admin;

import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;

/** Thrown if a request asks for something that is not possible. The message is the answer. */
final class RefusedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final transient HttpResponseStatus status;

    /** @param message says what is wrong, and what was expected, in one line */
    RefusedException(HttpResponseStatus status, String message) {
        super(message, null, false, false);
        this.status = status;
    }

    FullHttpResponse answer() {
        return AdminAnswers.text(status, getMessage() + "\n");
    }
}
