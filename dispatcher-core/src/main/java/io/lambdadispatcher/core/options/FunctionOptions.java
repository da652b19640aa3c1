package io.lambdadispatcher.core.options;

import java.time.Duration;

/**
 * One function and its pool.
 *
 * @param name as routers and launch tokens name it
 * @param capacity how many workers it should have
 * @param launching what keeps their launching from getting out of hand
 * @param connectionsPerWorker worker connections each launched worker opens, 1 to 64
 * @param streamsPerConnection worker streams on each, 1 to 1000; times the connections it is a worker's concurrency
 * @param pendingLimit requests that may wait for a worker stream, over all event loops
 * @param pendingTimeout how long one may wait
 * @param requestTimeout from dispatch until the response's end; zero = no limit
 */
public record FunctionOptions(
        String name,
        CapacityPolicy capacity,
        LaunchLimits launching,
        int connectionsPerWorker,
        int streamsPerConnection,
        int pendingLimit,
        Duration pendingTimeout,
        Duration requestTimeout) {

    public FunctionOptions {
        require(!name.isEmpty() && name.length() <= 256, "function name", name.length() + " characters", "1 to 256");
        require(
                connectionsPerWorker >= 1 && connectionsPerWorker <= 64,
                "connectionsPerWorker",
                connectionsPerWorker,
                "1 to 64");
        require(
                streamsPerConnection >= 1 && streamsPerConnection <= 1000,
                "streamsPerConnection",
                streamsPerConnection,
                "1 to 1000");
        require(pendingLimit >= 0, "pendingLimit", pendingLimit, "0 or more");
        require(!pendingTimeout.isNegative(), "pendingTimeout", pendingTimeout, "0 or more");
        require(!requestTimeout.isNegative(), "requestTimeout", requestTimeout, "0 (none) or more");
    }

    /** No launched workers, one connection of 100 streams (a second costs system calls; give it to workers where there are fewer than event loops), 10,000 pending for at most 10 s, 15 minutes for a response. */
    public static FunctionOptions of(String name) {
        return new FunctionOptions(
                name,
                CapacityPolicy.NONE,
                LaunchLimits.defaults(),
                1,
                100,
                10_000,
                Duration.ofSeconds(10),
                Duration.ofMinutes(15));
    }

    /** A worker's concurrency. */
    public int streamsPerWorker() {
        return connectionsPerWorker * streamsPerConnection;
    }

    public FunctionOptions withCapacity(CapacityPolicy value) {
        return new FunctionOptions(
                name,
                value,
                launching,
                connectionsPerWorker,
                streamsPerConnection,
                pendingLimit,
                pendingTimeout,
                requestTimeout);
    }

    public FunctionOptions withLaunching(LaunchLimits value) {
        return new FunctionOptions(
                name,
                capacity,
                value,
                connectionsPerWorker,
                streamsPerConnection,
                pendingLimit,
                pendingTimeout,
                requestTimeout);
    }

    /** {@code connections} × {@code streams} is one worker's concurrency. */
    public FunctionOptions withStreams(int connections, int streams) {
        return new FunctionOptions(
                name, capacity, launching, connections, streams, pendingLimit, pendingTimeout, requestTimeout);
    }

    public FunctionOptions withPending(int limit, Duration timeout) {
        return new FunctionOptions(
                name, capacity, launching, connectionsPerWorker, streamsPerConnection, limit, timeout, requestTimeout);
    }

    public FunctionOptions withRequestTimeout(Duration value) {
        return new FunctionOptions(
                name,
                capacity,
                launching,
                connectionsPerWorker,
                streamsPerConnection,
                pendingLimit,
                pendingTimeout,
                value);
    }

    private static void require(boolean holds, String what, Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(what + ": " + value + ", expected " + expected);
        }
    }
}
