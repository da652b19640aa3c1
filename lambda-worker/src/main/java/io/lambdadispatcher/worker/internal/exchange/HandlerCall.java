package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.wire.blocking.CallThread;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.handler.TraceContext;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A request on a handler's thread, which is interrupted if nobody wants the response any more. It
 * is started on the event loop and runs on the thread.
 */
public abstract class HandlerCall implements Runnable {
    protected final Request request;
    protected final Response response;

    private final CallThread thread = new CallThread();

    /** Whether the call has begun, or never will. */
    private final AtomicBoolean begun = new AtomicBoolean();

    /** Confined to the event loop. */
    private @Nullable Executor threads;

    protected HandlerCall(Request request, Response response) {
        this.request = request;
        this.response = response;
    }

    /** Calls the user's code, unless the request was cancelled before. */
    protected abstract void call();

    /** Releases what the call holds, because it has ended or there is no thread for it. */
    protected abstract void release();

    protected final void execute(Executor on) {
        threads = on;
        try {
            on.execute(this);
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            // JDK 17 throws the error if the system permits no more threads.
            release();
            response.fail(FailureReason.REFUSED, "no thread is free: " + e.getMessage());
        }
    }

    /**
     * Interrupts the call. If it has not begun, releases what it holds instead of when a thread is
     * free, which may be never. Must be called when the request is cancelled.
     */
    protected final void interrupt(FailureReason code) {
        if (!begun.compareAndSet(false, true)) {
            thread.interrupt();
            return;
        }
        release();
        if (threads instanceof ThreadPoolExecutor pool) {
            pool.remove(this);
        }
    }

    @Override
    public final void run() {
        if (!begun.compareAndSet(false, true)) {
            return;
        }
        thread.begin();
        try {
            if (request.cancellation() == null) {
                if (request instanceof TimedRequest timed) {
                    timed.onHandlerCalled();
                }
                callInTrace();
            }
        } finally {
            thread.end();
            release();
        }
    }

    private void callInTrace() {
        try (Scope trace = TraceContext.enter(request)) {
            call();
        }
    }

    /** @param text is sent to the client; the message of {@code cause} is only logged */
    protected final void fail(String what, Throwable cause, String text) {
        if (request.cancellation() == null) {
            FailureLog.report(what, request, cause);
            response.fail(FailureReason.HANDLER_FAILED, text);
        }
    }
}
