package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;

/**
 * Sends responses of the worker itself, instead of the user's code. Any thread that may use the
 * response.
 */
public final class TextAnswers {
    private static final AsciiString WORKER = AsciiString.cached("worker");

    private TextAnswers() {}

    /** Ends the response with one line of text, without a body to HEAD. */
    public static void send(Request request, Response response, HttpResponseStatus status, String line) {
        send(request, response, TextAnswer.of(ByteBufAllocator.DEFAULT, status, line));
    }

    /** @param answer its body is released, or owned by the response */
    public static void send(Request request, Response response, TextAnswer answer) {
        answer.head().set(TextAnswer.MARK, WORKER);
        if (Methods.isHead(request.method())) {
            answer.body().release();
            response.respond(answer.head());
        } else {
            response.respond(answer.head(), answer.body());
        }
    }
}
