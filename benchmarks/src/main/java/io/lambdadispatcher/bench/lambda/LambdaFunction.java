package io.lambdadispatcher.bench.lambda;

import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A function and its execution environments. An invocation gets the free environment that was used
 * last, or a new one if all are busy. At the maximum, it is throttled. Thread-safe; the lock is
 * held only briefly.
 *
 * <p>As in AWS, an environment is removed if its invocation times out. The next invocation that
 * needs an environment then starts cold.
 */
final class LambdaFunction {
    /**
     * @param environments the maximum; further concurrent invocations are throttled
     * @param timeoutMillis of one invocation, without its initialisation
     */
    record Limits(int environments, long timeoutMillis) {
        Limits {
            if (environments < 1 || timeoutMillis < 1) {
                throw new IllegalArgumentException("limits: " + environments + " environments, " + timeoutMillis
                        + " ms, expected 1 or more of each");
            }
        }
    }

    /** Counters since the start, except {@code environments}, which is the current number. */
    record Count(int environments, long invocations, long coldStarts, long throttled, long timedOut) {}

    private final String name;
    private final Limits limits;
    private final ColdStart coldStart;
    private final Supplier<RequestStreamHandler> handlers;
    private final ScheduledExecutorService timer;

    private final Deque<Environment> idle = new ArrayDeque<>();
    private final Map<Environment, Future<?>> timeouts = new HashMap<>();
    private int environments;
    private long invocations;
    private long coldStarts;
    private long throttled;
    private long timedOut;

    /** @param handlers called once for each environment, on its thread */
    LambdaFunction(
            String name,
            Limits limits,
            ColdStart coldStart,
            Supplier<RequestStreamHandler> handlers,
            ScheduledExecutorService timer) {
        this.name = name;
        this.limits = limits;
        this.coldStart = coldStart;
        this.handlers = handlers;
        this.timer = timer;
    }

    String name() {
        return name;
    }

    /**
     * @return never completes exceptionally; completes on the environment's thread, or on the
     *     caller's thread if no environment is used
     */
    CompletableFuture<InvokeResult> invoke(byte[] payload) {
        if (payload.length > InvokeResult.LARGEST_PAYLOAD_BYTES) {
            return CompletableFuture.completedFuture(InvokeResult.tooLarge(payload.length));
        }
        EnvironmentInvocation invocation =
                new EnvironmentInvocation(name, payload, TimeUnit.MILLISECONDS.toNanos(limits.timeoutMillis()));
        Environment environment = take();
        if (environment == null) {
            return CompletableFuture.completedFuture(InvokeResult.throttled());
        }
        environment.serve(invocation);
        return invocation.result;
    }

    /** @return {@code null} if all environments are busy and their number is at the maximum */
    private synchronized @Nullable Environment take() {
        Environment environment = idle.pollFirst();
        if (environment == null && environments == limits.environments()) {
            throttled++;
            return null;
        }
        invocations++;
        return environment == null ? startOne() : environment;
    }

    private Environment startOne() {
        environments++;
        coldStarts++;
        Environment started = new Environment(this, name + "-" + coldStarts, coldStart, handlers);
        started.start();
        return started;
    }

    synchronized Count count() {
        return new Count(environments, invocations, coldStarts, throttled, timedOut);
    }

    // Environments call the methods below.

    void onBegin(Environment environment, EnvironmentInvocation invocation) {
        invocation.begin();
        // Under the lock, because the timeout task may run before put() has ended.
        synchronized (this) {
            timeouts.put(
                    environment,
                    timer.schedule(
                            () -> onTimeout(environment, invocation), limits.timeoutMillis(), TimeUnit.MILLISECONDS));
        }
    }

    /**
     * Ends an invocation. The environment becomes free before the result is completed. Otherwise, a
     * caller that waits for the result could find the environment still busy.
     *
     * @return false if the environment was killed in the meantime
     */
    boolean onEnd(Environment environment, EnvironmentInvocation invocation, InvokeResult result) {
        synchronized (this) {
            Future<?> timeout = timeouts.remove(environment);
            if (timeout == null) {
                return false;
            }
            timeout.cancel(false);
            idle.addFirst(environment);
        }
        invocation.result.complete(result);
        return true;
    }

    /** Removes the environment. As in AWS, the next invocation starts another one. */
    void onStartFailed(EnvironmentInvocation invocation, Throwable thrown) {
        synchronized (this) {
            environments--;
        }
        invocation.result.complete(InvokeResult.threw(thrown));
    }

    private void onTimeout(Environment environment, EnvironmentInvocation invocation) {
        synchronized (this) {
            if (timeouts.remove(environment) == null) {
                return; // The invocation has just ended.
            }
            timedOut++;
            environments--;
        }
        environment.kill();
        invocation.result.complete(InvokeResult.timedOut(limits.timeoutMillis()));
    }
}
