package io.lambdadispatcher.worker.websocket;

import java.time.Duration;
import java.util.List;

/**
 * Limits of a session. Immutable.
 *
 * @param mostMessageBytes of a message, all fragments together; more closes the session with 1009
 * @param pingEvery a client that is silent for so long is pinged, and given up after as long again; zero for never
 * @param closeWithin how long a client may take to answer a close frame
 * @param subprotocols that are spoken, the best first
 */
public record WebSocketOptions(
        int mostMessageBytes, Duration pingEvery, Duration closeWithin, List<String> subprotocols) {
    public WebSocketOptions {
        if (mostMessageBytes < 1) {
            throw new IllegalArgumentException("mostMessageBytes: " + mostMessageBytes + ", expected 1 at least");
        }
        if (pingEvery.isNegative()) {
            throw new IllegalArgumentException("pingEvery: " + pingEvery + ", expected zero at least");
        }
        if (closeWithin.isNegative() || closeWithin.isZero()) {
            throw new IllegalArgumentException("closeWithin: " + closeWithin + ", expected more than zero");
        }
        subprotocols = List.copyOf(subprotocols);
    }

    /** Messages of 1 MiB, a ping after 30 s, 10 s to close, no subprotocol. */
    public static WebSocketOptions usual() {
        return new WebSocketOptions(1 << 20, Duration.ofSeconds(30), Duration.ofSeconds(10), List.of());
    }

    public WebSocketOptions withMostMessageBytes(int bytes) {
        return new WebSocketOptions(bytes, pingEvery, closeWithin, subprotocols);
    }

    public WebSocketOptions withPingEvery(Duration silence) {
        return new WebSocketOptions(mostMessageBytes, silence, closeWithin, subprotocols);
    }

    public WebSocketOptions withCloseWithin(Duration time) {
        return new WebSocketOptions(mostMessageBytes, pingEvery, time, subprotocols);
    }

    public WebSocketOptions withSubprotocols(List<String> names) {
        return new WebSocketOptions(mostMessageBytes, pingEvery, closeWithin, names);
    }
}
