package io.lambdadispatcher.cache;

import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.RequestContext;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request that waits for the response to an identical one. It is answered with it, or sent to the
 * function if the response is not for others, or is late. Confined to the client's event loop,
 * except {@link #resume} and {@link #isGone}.
 */
final class WaitingRequest {
    /** A response that takes longer is probably a stream, or never comes. */
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Time between two looks at the breaker, which opens if the identical request hangs. */
    private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private final HttpCache cache;
    private final CacheRequest request;
    private final String flightKey;
    private final int generation;
    private final long startNanos;
    private final CompletableFuture<Decision> landed = new CompletableFuture<>();

    /** What the dispatcher cancels if the client leaves, or the request waits no longer. */
    private volatile CompletableFuture<Decision> asked = landed;

    WaitingRequest(HttpCache cache, CacheRequest request, String flightKey) {
        this.cache = cache;
        this.request = request;
        this.flightKey = flightKey;
        generation = cache.store().generation(request.key());
        startNanos = cache.store().nanoTime();
    }

    /** Returns the decision to wait. */
    Decision decision() {
        long wait = Math.min(CHECK_NANOS, MAX_WAIT_NANOS - waitedNanos());
        // A copy, because the dispatcher cancels what takes too long.
        asked = landed.copy();
        return Decision.later(asked, Duration.ofNanos(Math.max(1, wait)), Decision.resume(this::look));
    }

    /** Returns whether the client has left, or a look has just ended one wait. Any thread. */
    boolean isGone() {
        return asked.isCancelled();
    }

    private long waitedNanos() {
        return cache.store().nanoTime() - startNanos;
    }

    private Decision look(RequestContext context) {
        if (waitedNanos() >= MAX_WAIT_NANOS) {
            // So that the next ones, such as those of a long poll, are not delayed as well.
            if (!cache.store().isUnshared(flightKey)) {
                cache.store().setUnshared(flightKey);
            }
        } else if (!context.isBreakerOpen()) {
            return decision();
        }
        return cache.sendAlone(request, flightKey);
    }

    /**
     * Continues on the client's event loop, where the response may have been removed by then. Any
     * thread.
     *
     * @param response {@code null} = there is none for others
     * @param error whether the identical request has failed
     */
    void resume(@Nullable StoredResponse response, boolean error) {
        landed.complete(Decision.resume(context -> {
            Decision answer = error ? cache.insteadOfError(request) : null;
            if (response != null && generation == cache.store().generation(request.key())) {
                answer = cache.collapsed(response, request);
            }
            return answer == null ? cache.sendAlone(request, flightKey) : answer;
        }));
    }
}
