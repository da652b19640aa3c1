package io.lambdadispatcher.bench.load;

import java.util.ArrayList;
import java.util.List;

/**
 * The description of one load.
 *
 * @param rate requests per second; zero = as many as the streams carry
 * @param warmNanos time after the start in which nothing is recorded
 * @param lengthNanos recorded time after the warm-up
 * @param windowNanos interval of reports; zero = only one report at the end
 * @param streams maximum of concurrent streams on each connection
 */
record LoadOrder(
        int port,
        double rate,
        long warmNanos,
        long lengthNanos,
        long windowNanos,
        int connections,
        int streams,
        List<RequestKind> kinds) {

    LoadOrder {
        require(port > 0 && port <= 65535, "port", port, "1 to 65535");
        require(rate >= 0 && rate <= 10_000_000, "rate", rate, "0 to 10,000,000");
        require(warmNanos >= 0, "warm", warmNanos, "0 or more");
        require(lengthNanos > 0, "seconds", lengthNanos, "more than 0");
        require(windowNanos >= 0, "window", windowNanos, "0 or more");
        require(connections > 0, "connections", connections, "1 or more");
        require(streams > 0, "streams", streams, "1 or more");
        require(!kinds.isEmpty(), "request", kinds, "at least one");
        kinds = List.copyOf(kinds);
    }

    /**
     * @param line {@code port=8080 rate=1000 warm=1 seconds=10 window=0 connections=10 streams=10
     *     request=1:/ping:4}; {@code request} may be repeated, times are in seconds
     * @throws IllegalArgumentException if the line is wrong, with the reason
     */
    static LoadOrder parse(String line) {
        int port = 0;
        double rate = 0;
        double warm = 0;
        double seconds = 0;
        double window = 0;
        int connections = 10;
        int streams = 10;
        List<String> requests = new ArrayList<>();
        for (String word : line.trim().split("\\s+")) {
            int mark = word.indexOf('=');
            String value = word.substring(mark + 1);
            switch (word.substring(0, Math.max(0, mark))) {
                case "port" -> port = Integer.parseInt(value);
                case "rate" -> rate = Double.parseDouble(value);
                case "warm" -> warm = Double.parseDouble(value);
                case "seconds" -> seconds = Double.parseDouble(value);
                case "window" -> window = Double.parseDouble(value);
                case "connections" -> connections = Integer.parseInt(value);
                case "streams" -> streams = Integer.parseInt(value);
                case "request" -> requests.add(value);
                default ->
                    throw new IllegalArgumentException("'" + word
                            + "', expected port=, rate=, warm=, seconds=, window=, connections=, streams= or request=");
            }
        }
        String authority = "127.0.0.1:" + port;
        List<RequestKind> kinds = requests.stream()
                .map(text -> RequestKind.parse(text, authority))
                .toList();
        return new LoadOrder(port, rate, nanos(warm), nanos(seconds), nanos(window), connections, streams, kinds);
    }

    /** Releases the bodies. Call it once, when each user has ended or holds its own references. */
    void release() {
        kinds.forEach(kind -> kind.body().release());
    }

    private static long nanos(double seconds) {
        return (long) (seconds * 1e9);
    }

    private static void require(boolean holds, String what, Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(what + " is " + value + ", expected " + expected);
        }
    }
}
