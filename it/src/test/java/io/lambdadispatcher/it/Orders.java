package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.Request;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

// tag::orders
public final class Orders implements BlockingHandler {
    private static final HandlerInterceptor CONTEXT = new HandlerInterceptor() {
        @Override
        public Scope enter(Request request) {
            return MDC.putCloseable("request", request.header("x-request-id"))::close;
        }

        @Override
        public void onFailure(Request request, Throwable failure) {
            ErrorTracker.report(failure); // Sentry, for example
        }
    };

    @Override
    public HandlerInterceptor interceptor() {
        return CONTEXT;
    }

    @Override
    public void handle(BlockingRequest request, BlockingResponse response) {
        LoggerFactory.getLogger(Orders.class).info("serving {}", request.path()); // with the request's id
        // end::orders
        throw new IllegalStateException("sold out");
    }
}
