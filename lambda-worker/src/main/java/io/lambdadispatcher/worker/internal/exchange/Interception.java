package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.handler.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Calls the interceptor of one request's handler. Code of the handler that is called during other
 * code of it, such as a reader during {@code handle}, is in the same scope. Confined to one thread:
 * the event loop, or the thread of a blocking handler.
 */
public final class Interception {
    private final HandlerInterceptor interceptor;
    private final Request request;
    private boolean entered;

    private Interception(HandlerInterceptor interceptor, Request request) {
        this.interceptor = interceptor;
        this.request = request;
    }

    /**
     * Returns {@code null} if there is no interceptor, because most handlers have none.
     *
     * @throws NullPointerException if the handler has returned {@code null} as its interceptor
     */
    public static @Nullable Interception of(HandlerInterceptor interceptor, Request request) {
        return interceptor == HandlerInterceptor.NONE
                ? null
                : new Interception(Objects.requireNonNull(interceptor, "interceptor()"), request);
    }

    /**
     * @return the scope for a try-with-resources around code of the handler; an exception fails the
     *     request as that code would
     */
    public static @Nullable Scope enter(@Nullable Interception interception) {
        return interception == null || interception.entered ? null : interception.begin();
    }

    private Scope begin() {
        Scope scope = interceptor.enter(request);
        entered = true;
        return () -> {
            entered = false;
            if (scope != null) {
                scope.close();
            }
        };
    }

    /** Logs an exception of the handler, and tells the interceptor. Never throws. */
    public static void report(@Nullable Interception interception, String what, Request request, Throwable cause) {
        boolean logged = false;
        try (Scope scope = enter(interception)) {
            FailureLog.report(what, request, cause);
            logged = true;
            if (interception != null) {
                interception.interceptor.onFailure(request, cause);
            }
        } catch (Throwable e) {
            if (!logged) {
                FailureLog.report(what, request, cause);
            }
            FailureLog.report("interceptor", request, e);
        }
    }
}
