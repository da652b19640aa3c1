package io.lambdadispatcher.bench.lambda;

import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One execution environment: a thread that waits for a cold start, creates the user's handler, and
 * serves one invocation at a time. {@link LambdaFunction} creates environments and gives them
 * invocations. Everything else happens on the environment's thread.
 */
final class Environment implements Runnable {
    private final LambdaFunction function;
    private final ColdStart coldStart;
    private final Supplier<RequestStreamHandler> handlers;
    private final LinkedBlockingQueue<EnvironmentInvocation> next = new LinkedBlockingQueue<>(1);
    private final Thread thread;

    /** Reused, so that it keeps the size that earlier responses needed. */
    private final ByteArrayOutputStream output = new ByteArrayOutputStream(1024);

    Environment(LambdaFunction function, String name, ColdStart coldStart, Supplier<RequestStreamHandler> handlers) {
        this.function = function;
        this.coldStart = coldStart;
        this.handlers = handlers;
        this.thread = new Thread(this, name);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** @throws IllegalStateException if another invocation is in flight */
    void serve(EnvironmentInvocation invocation) {
        next.add(invocation);
    }

    /** Stops the environment permanently. */
    void kill() {
        thread.interrupt();
    }

    @Override
    public void run() {
        try {
            coldStart.await();
            RequestStreamHandler handler = handler();
            while (handler != null && serveNext(handler)) {}
        } catch (InterruptedException e) {
            // The function has killed this environment, so it need not be told.
        }
    }

    /** @return {@code null} if the handler cannot be created; its invocation has then failed */
    private @Nullable RequestStreamHandler handler() throws InterruptedException {
        try {
            return handlers.get();
        } catch (RuntimeException | LinkageError e) {
            function.onStartFailed(next.take(), e);
            return null;
        }
    }

    /** @return false if this was the last invocation */
    private boolean serveNext(RequestStreamHandler handler) throws InterruptedException {
        EnvironmentInvocation invocation = next.take();
        function.onBegin(this, invocation);
        return function.onEnd(this, invocation, invoke(handler, invocation));
    }

    private InvokeResult invoke(RequestStreamHandler handler, EnvironmentInvocation invocation) {
        output.reset();
        try {
            handler.handleRequest(new ByteArrayInputStream(invocation.payload), output, invocation);
            return InvokeResult.returned(output.toByteArray());
        } catch (Exception | LinkageError e) {
            return InvokeResult.threw(e);
        }
    }
}
