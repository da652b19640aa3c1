package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.internal.exchange.HandlerThreads;
import java.util.concurrent.Executor;

/** Serves a request on a thread of its own, and may block. One instance serves all requests, many at once. */
@FunctionalInterface
public interface BlockingHandler {
    /**
     * Serves one request; the response ends when it returns. The thread is interrupted when nobody wants the response any more.
     *
     * @throws Exception fails this request only
     */
    void handle(BlockingRequest request, BlockingResponse response) throws Exception;

    /**
     * Returns what surrounds this handler's code on its thread. Called for each request, so it should return the same object. Default: nothing.
     */
    default HandlerInterceptor interceptor() {
        return HandlerInterceptor.NONE;
    }

    /** On virtual threads, or on a bounded pool where the JVM has none. */
    default Handler asHandler() {
        return asHandler(HandlerThreads.shared());
    }

    /** @param threads must run what it is given on another thread than the caller's */
    default Handler asHandler(Executor threads) {
        return (request, response) -> new BlockingCall(this, request, response).start(threads);
    }
}
