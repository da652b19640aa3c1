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
 * A function and its execution environments. An invocation gets the environment that was used last,
 * or a new one if all are busy, and is throttled where there may be no more of them. Thread-safe;
 * its lock is held for a moment only.
 *
 * <p>An environment whose invocation takes too long is gone, as in AWS: the next one that needs it
 * starts cold.
 */
final class LambdaFunction {
    /**
     * @param environments the most; more invocations at once are throttled
     * @param timeoutMillis for one invocation, initialisation excepted
     */
    record Limits(int environments, long timeoutMillis) {
        Limits {
            if (environments < 1 || timeoutMillis < 1) {
                throw new IllegalArgumentException("limits: " + environments + " environments, " + timeoutMillis
                        + " ms, expected 1 or more of each");
            }
        }
    }

    /** Since the beginning, but {@code environments}, which is how many there are. */
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
     * @return completes, never exceptionally, on the environment's thread, or on the caller's where
     *     there is none
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

    /** @return {@code null} where all are busy and there may be no more */
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

    // From environments.

    void onBegin(Environment environment, EnvironmentInvocation invocation) {
        invocation.begin();
        // Under the lock, which a timeout waits for that comes at once.
        synchronized (this) {
            timeouts.put(
                    environment,
                    timer.schedule(
                            () -> onTimeout(environment, invocation), limits.timeoutMillis(), TimeUnit.MILLISECONDS));
        }
    }

    /**
     * Free before the answer is on its way, or who waits for that would find the environment busy
     * still.
     *
     * @return false if the environment was killed meanwhile
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

    /** The environment is gone: the next invocation tries again in another one, as in AWS. */
    void onStartFailed(EnvironmentInvocation invocation, Throwable thrown) {
        synchronized (this) {
            environments--;
        }
        invocation.result.complete(InvokeResult.threw(thrown));
    }

    private void onTimeout(Environment environment, EnvironmentInvocation invocation) {
        synchronized (this) {
            if (timeouts.remove(environment) == null) {
                return; // it has ended at this very moment
            }
            timedOut++;
            environments--;
        }
        environment.kill();
        invocation.result.complete(InvokeResult.timedOut(limits.timeoutMillis()));
    }
}
