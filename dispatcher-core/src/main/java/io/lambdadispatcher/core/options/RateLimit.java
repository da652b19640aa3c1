package io.lambdadispatcher.core.options;

import io.netty.util.AsciiString;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How many requests each client may send in a time. A request beyond that gets 429 with {@code
 * retry-after} and the header fields {@code ratelimit-policy} and {@code ratelimit}. Immutable.
 *
 * <p>Each client has a token bucket, which holds as many tokens as the burst and gets {@code
 * requests} tokens per window, evenly. A request takes one. So in any period, a client can send the
 * burst and what the bucket gets in the period.
 *
 * <pre>{@code
 * RateLimit perApiKey = RateLimit.of(600, Duration.ofMinutes(1)).burst(50).perHeader("x-api-key");
 * }</pre>
 */
public final class RateLimit {
    /** Largest number of requests. */
    public static final int MAX_REQUESTS = 1_000_000;

    private enum Key {
        CLIENT,
        ROUTE,
        HEADER
    }

    private final int requests;
    private final Duration window;
    private final int burst;
    private final Key key;
    private final @Nullable AsciiString header;

    private RateLimit(int requests, Duration window, int burst, Key key, @Nullable AsciiString header) {
        this.requests = requests;
        this.window = window;
        this.burst = burst;
        this.key = key;
        this.header = header;
        Check.range("requests", requests, 1, MAX_REQUESTS);
        Check.that(
                window.getNano() == 0 && window.getSeconds() >= 1 && window.getSeconds() <= 86_400,
                "window",
                window.toString(),
                "1 to 86,400 whole seconds");
        Check.range("burst", burst, 1, requests);
    }

    /**
     * Returns a limit for each client, with a burst of {@code requests}. A client is known by its
     * address, or by what a trusted proxy says ({@link ForwardingPolicy}).
     *
     * @param requests 1 to {@value #MAX_REQUESTS}
     * @param window 1 to 86,400 whole seconds
     * @throws IllegalArgumentException if a value is out of its range
     */
    public static RateLimit of(int requests, Duration window) {
        return new RateLimit(requests, window, requests, Key.CLIENT, null);
    }

    /**
     * Returns this limit with another burst.
     *
     * @param burst maximum number of requests at the same time, 1 to {@code requests}
     * @throws IllegalArgumentException if it is out of its range
     */
    public RateLimit burst(int burst) {
        return new RateLimit(requests, window, burst, key, header);
    }

    /** Returns this limit for all clients of the route together. */
    public RateLimit perRoute() {
        return new RateLimit(requests, window, burst, Key.ROUTE, null);
    }

    /**
     * Returns this limit for each value of a header. Requests without the header count together. A
     * client that chooses the value itself escapes the limit, so name a header that is verified
     * before the dispatcher.
     *
     * @param name the name of a header
     * @throws IllegalArgumentException if it cannot be one
     */
    public RateLimit perHeader(String name) {
        return new RateLimit(requests, window, burst, Key.HEADER, Check.headerName(name));
    }

    /** Returns the number of requests per window. */
    public int requests() {
        return requests;
    }

    /** Returns the window, in whole seconds. */
    public Duration window() {
        return window;
    }

    /** Returns the maximum number of requests at the same time. */
    public int burst() {
        return burst;
    }

    /** Returns whether all clients of the route have one limit together. */
    public boolean isPerRoute() {
        return key == Key.ROUTE;
    }

    /**
     * Returns the name of the header, in lower case, whose values have a limit each; {@code null} =
     * the limit is not for the values of a header.
     */
    public @Nullable CharSequence header() {
        return header;
    }
}
