package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http.HttpResponseStatus;
import org.jspecify.annotations.Nullable;

/**
 * One request to the application and its response, whatever HTTP the application speaks: how it
 * starts, and how it ends before its time. Event loop only.
 */
abstract class AppExchange implements BodyReader {
    enum State {
        /** There is no connection yet. */
        WAITING,
        REQUESTED,
        RESPONDING,
        TUNNELLING,
        ENDED
    }

    final WebConfig config;
    final Request request;
    final Response response;
    final Origin origin;
    final boolean bodyless;

    State state = State.WAITING;

    AppExchange(WebConfig config, Request request, Response response, Origin origin) {
        this.config = config;
        this.request = request;
        this.response = response;
        this.origin = origin;
        this.bodyless = request.body().isEmpty();
    }

    final void start() {
        request.onCancel(this::onCancelled);
        response.onWritable(this::onClientWritable);
        if (RequestTarget.isConnect(request.headers()) && !RequestTarget.isWebSocket(request.headers())) {
            answer(HttpResponseStatus.NOT_IMPLEMENTED, "CONNECT is supported only for WebSockets");
        } else if (isWaiting()) {
            acquire();
        }
    }

    /** Returns false if the exchange has been cancelled meanwhile. */
    final boolean isWaiting() {
        return state == State.WAITING;
    }

    /** Asks for a connection. */
    abstract void acquire();

    final void onUnreachable(Throwable cause) {
        if (isWaiting()) {
            answer(
                    HttpResponseStatus.BAD_GATEWAY,
                    "no connection to the app at " + config.address + ": " + cause.getMessage());
        }
    }

    abstract void onClientWritable();

    /** With NOT_NEEDED the response is unharmed, and its end closes what lacks the request's. */
    @Override
    public final void onFailed(FailureReason code) {
        if (code != FailureReason.NOT_NEEDED) {
            onCancelled(code);
        }
    }

    private void onCancelled(FailureReason code) {
        if (state != State.ENDED) {
            end();
        }
    }

    /** The application's fault. */
    final void breakOff(FailureReason code, @Nullable String why) {
        breakOff(HttpResponseStatus.BAD_GATEWAY, code, why);
    }

    /** The request's fault. */
    final void refuse(String why) {
        breakOff(HttpResponseStatus.BAD_REQUEST, FailureReason.BAD_MESSAGE, why);
    }

    /** @param status for a client that has not seen the head */
    private void breakOff(HttpResponseStatus status, FailureReason code, @Nullable String why) {
        if (isHeadSent() || code == FailureReason.REFUSED) {
            end();
            response.fail(code, String.valueOf(why));
        } else {
            answer(status, why);
        }
    }

    boolean isHeadSent() {
        return state == State.RESPONDING || state == State.TUNNELLING;
    }

    final void answer(HttpResponseStatus status, @Nullable String detail) {
        end();
        origin.answer(request, response, status, String.valueOf(detail));
    }

    /** Enters {@link State#ENDED} and lets the connection go, without a word to the client. */
    abstract void end();
}
