package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.worker.WireLimits;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a worker is to do. Durations are 366 days at most.
 *
 * @param function whose requests it serves
 * @param workerId unique among the workers of all time
 * @param addresses of dispatchers, unresolved; connections are spread over all of them in turn
 * @param connections to open in all, 1 to 64
 * @param streams worker streams on each, 1 to 1000
 * @param tls {@code null} = plain HTTP/2
 * @param deadline from the start, after which the worker is stopped from outside; zero = never
 * @param deadlineMargin how long before the deadline it starts to drain; a tenth of a deadline shorter than ten margins
 * @param idleTimeout it drains when nothing has been asked of it for so long; zero = never
 * @param drainGrace how long exchanges under way may take when it drains, the deadline permitting
 * @param loneTimeout it ends when it has had no connection for so long; zero = it tries for ever
 * @param streamWindowBytes HTTP/2 window of each worker stream: what a request's body may hold in memory
 */
public record WorkerConfig(
        String function,
        String workerId,
        Credential credential,
        List<InetSocketAddress> addresses,
        int connections,
        int streams,
        @Nullable WorkerTls tls,
        Duration deadline,
        Duration deadlineMargin,
        Duration idleTimeout,
        Duration drainGrace,
        Duration loneTimeout,
        int streamWindowBytes) {
    /** Of all durations, as of the dispatcher's: nanoseconds of it can be added to each other. */
    static final Duration LONGEST = Duration.ofDays(366);

    private static final int MIN_WINDOW_BYTES = 65_535;

    public WorkerConfig {
        requireName("function", function);
        requireName("workerId", workerId);
        require(!addresses.isEmpty(), "addresses", addresses, "at least one host:port");
        requireWithin("connections", connections, 1, WireLimits.MAX_CONNECTIONS_PER_WORKER);
        requireWithin("streams", streams, 1, WireLimits.MAX_STREAMS_PER_CONNECTION);
        requireDuration("deadline", deadline);
        requireDuration("deadlineMargin", deadlineMargin);
        requireDuration("idleTimeout", idleTimeout);
        requireDuration("drainGrace", drainGrace);
        requireDuration("loneTimeout", loneTimeout);
        requireWithin("streamWindowBytes", streamWindowBytes, MIN_WINDOW_BYTES, Integer.MAX_VALUE / 2);
        addresses = List.copyOf(addresses);
    }

    /**
     * Two connections of 50 streams, no TLS, no deadline, a margin of 10 s, no idle timeout, 30 s to drain, windows of 512 KiB. A worker that was
     * launched gives up after 30 s without a connection; one with the secret tries for ever.
     */
    public static WorkerConfig of(
            String function, String workerId, Credential credential, List<InetSocketAddress> addresses) {
        return new WorkerConfig(
                function,
                workerId,
                credential,
                addresses,
                2,
                50,
                null,
                Duration.ZERO,
                Duration.ofSeconds(10),
                Duration.ZERO,
                Duration.ofSeconds(30),
                credential.outlivesDispatcher() ? Duration.ZERO : Duration.ofSeconds(30),
                512 * 1024);
    }

    /** {@code connections} × {@code streams} is the worker's concurrency. */
    public WorkerConfig withStreams(int newConnections, int newStreams) {
        return new WorkerConfig(
                function,
                workerId,
                credential,
                addresses,
                newConnections,
                newStreams,
                tls,
                deadline,
                deadlineMargin,
                idleTimeout,
                drainGrace,
                loneTimeout,
                streamWindowBytes);
    }

    public WorkerConfig withTls(@Nullable WorkerTls value) {
        return new WorkerConfig(
                function,
                workerId,
                credential,
                addresses,
                connections,
                streams,
                value,
                deadline,
                deadlineMargin,
                idleTimeout,
                drainGrace,
                loneTimeout,
                streamWindowBytes);
    }

    public WorkerConfig withDeadline(Duration newDeadline, Duration margin) {
        return new WorkerConfig(
                function,
                workerId,
                credential,
                addresses,
                connections,
                streams,
                tls,
                newDeadline,
                margin,
                idleTimeout,
                drainGrace,
                loneTimeout,
                streamWindowBytes);
    }

    public WorkerConfig withTimeouts(Duration idle, Duration grace, Duration lone) {
        return new WorkerConfig(
                function,
                workerId,
                credential,
                addresses,
                connections,
                streams,
                tls,
                deadline,
                deadlineMargin,
                idle,
                grace,
                lone,
                streamWindowBytes);
    }

    /** From the start until the worker drains for its deadline. Zero = never. */
    public Duration untilDrain() {
        Duration margin =
                deadline.compareTo(deadlineMargin.multipliedBy(10)) < 0 ? deadline.dividedBy(10) : deadlineMargin;
        return deadline.minus(margin);
    }

    private static void requireName(String what, String name) {
        require(
                !name.isBlank() && name.length() <= WireLimits.MAX_NAME_CHARS,
                what,
                "'" + name + "'",
                "1 to " + WireLimits.MAX_NAME_CHARS + " characters");
    }

    private static void requireWithin(String what, int value, int least, int most) {
        require(value >= least && value <= most, what, value, least + " to " + most);
    }

    private static void requireDuration(String what, Duration value) {
        boolean fits = !value.isNegative() && value.compareTo(LONGEST) <= 0;
        require(fits, what, value, "zero to " + LONGEST.toDays() + " days");
    }

    private static void require(boolean holds, String what, Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(what + " is " + value + ", expected " + expected);
        }
    }
}
