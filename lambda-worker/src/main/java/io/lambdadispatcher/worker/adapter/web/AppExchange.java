package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http.HttpResponseStatus;
import org.jspecify.annotations.Nullable;

/**
 * One request to the application and its response, over HTTP/1.1 or HTTP/2. This class has the
 * common part: the start, and an early end. Confined to an event loop.
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

    /** What compresses the response; {@code null} = nothing does. */
    private final @Nullable GzippedResponse gzipped;

    AppExchange(WebConfig config, Request request, Response response, Origin origin) {
        this.config = config;
        this.request = request;
        this.gzipped = config.compression && origin != Origin.EVENT && GzippedResponse.isFor(request)
                ? new GzippedResponse(request, response)
                : null;
        this.response = gzipped == null ? response : gzipped;
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

    /** Returns true if the exchange still needs a connection: it has not been cancelled. */
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

    /**
     * Ends the exchange if the request's body failed. NOT_NEEDED is no failure: the response
     * continues, and its end closes an incomplete request.
     */
    @Override
    public final void onFailed(FailureReason code) {
        if (code != FailureReason.NOT_NEEDED) {
            onCancelled(code);
        }
    }

    private void onCancelled(FailureReason code) {
        if (state != State.ENDED) {
            end();
            if (gzipped != null) {
                gzipped.close();
            }
        }
    }

    /** Ends the exchange because of a fault of the application. */
    final void breakOff(FailureReason code, @Nullable String why) {
        breakOff(HttpResponseStatus.BAD_GATEWAY, code, why);
    }

    /** Ends the exchange because of a fault of the request. */
    final void refuse(String why) {
        breakOff(HttpResponseStatus.BAD_REQUEST, FailureReason.BAD_MESSAGE, why);
    }

    /**
     * Only a dispatcher can send a refused request elsewhere, so an event is answered.
     *
     * @param status sent to the client if it has not received response headers
     */
    private void breakOff(HttpResponseStatus status, FailureReason code, @Nullable String why) {
        if (isHeadSent() || code == FailureReason.REFUSED && origin == Origin.STREAM) {
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

    /**
     * Enters {@link State#ENDED} and gives up the connection or stream. Sends nothing to the
     * client.
     */
    abstract void end();
}
