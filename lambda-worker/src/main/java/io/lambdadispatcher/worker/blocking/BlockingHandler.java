package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.HandlerThreads;
import java.util.concurrent.Executor;

/**
 * Serves requests on threads that may block. One instance serves all requests concurrently, each on
 * its own thread.
 */
@FunctionalInterface
public interface BlockingHandler {
    /**
     * Serves one request. The response ends when this method returns. The thread is interrupted if
     * the response is no longer needed.
     *
     * @throws Exception fails this request only. The client receives 500 if no headers have been
     *     sent, and an incomplete response otherwise
     */
    void handle(BlockingRequest request, BlockingResponse response) throws Exception;

    /**
     * Returns what surrounds this handler's code on its thread. Called for each request, so it
     * should return the same object. Default: nothing.
     */
    default HandlerInterceptor interceptor() {
        return HandlerInterceptor.NONE;
    }

    /**
     * Returns a handler that calls this one on virtual threads, or on a bounded pool if the JVM has
     * none.
     */
    default Handler asHandler() {
        return asHandler(HandlerThreads.shared());
    }

    /**
     * Returns a handler that calls this one on the threads of an executor.
     *
     * @param threads must run tasks on another thread than the caller's
     */
    default Handler asHandler(Executor threads) {
        return new Handler() {
            @Override
            public void handle(Request request, Response response) {
                new BlockingCall(BlockingHandler.this, request, response).start(threads);
            }

            @Override
            public Object implementation() {
                return BlockingHandler.this;
            }
        };
    }
}
