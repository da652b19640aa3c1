package io.lambdadispatcher.worker.websocket;

import java.time.Duration;
import java.util.List;

/** Limits of WebSocket sessions. Immutable. */
public final class WebSocketOptions {
    private static final int DEFAULT_MESSAGE_BYTES = 1 << 20;
    private static final Duration DEFAULT_PING = Duration.ofSeconds(30);
    private static final Duration DEFAULT_CLOSE = Duration.ofSeconds(10);

    private final int mostMessageBytes;
    private final Duration pingEvery;
    private final Duration closeWithin;
    private final List<String> subprotocols;

    private WebSocketOptions(
            int mostMessageBytes, Duration pingEvery, Duration closeWithin, List<String> subprotocols) {
        if (mostMessageBytes < 1) {
            throw new IllegalArgumentException("mostMessageBytes: " + mostMessageBytes + ", expected at least 1");
        }
        if (pingEvery.isNegative()) {
            throw new IllegalArgumentException("pingEvery: " + pingEvery + ", expected 0 or more");
        }
        if (closeWithin.isNegative() || closeWithin.isZero()) {
            throw new IllegalArgumentException("closeWithin: " + closeWithin + ", expected more than zero");
        }
        this.mostMessageBytes = mostMessageBytes;
        this.pingEvery = pingEvery;
        this.closeWithin = closeWithin;
        this.subprotocols = List.copyOf(subprotocols);
    }

    /**
     * Returns the defaults: messages of 1 MiB, a ping after 30 s, 10 s to close, no subprotocol.
     */
    public static WebSocketOptions usual() {
        return new WebSocketOptions(DEFAULT_MESSAGE_BYTES, DEFAULT_PING, DEFAULT_CLOSE, List.of());
    }

    /**
     * Sets the maximum size of a message, in bytes, with all of its fragments. A longer one closes
     * the session with 1009.
     */
    public WebSocketOptions withMostMessageBytes(int bytes) {
        return new WebSocketOptions(bytes, pingEvery, closeWithin, subprotocols);
    }

    /**
     * Pings a client after this time without traffic, and closes the session if there is no answer
     * within the same time. Zero disables pings.
     */
    public WebSocketOptions withPingEvery(Duration silence) {
        return new WebSocketOptions(mostMessageBytes, silence, closeWithin, subprotocols);
    }

    /** Sets how long a client may take to answer a close frame. */
    public WebSocketOptions withCloseWithin(Duration time) {
        return new WebSocketOptions(mostMessageBytes, pingEvery, time, subprotocols);
    }

    /** Sets the subprotocols that the handler speaks, the preferred one first. */
    public WebSocketOptions withSubprotocols(List<String> names) {
        return new WebSocketOptions(mostMessageBytes, pingEvery, closeWithin, names);
    }

    public int mostMessageBytes() {
        return mostMessageBytes;
    }

    public Duration pingEvery() {
        return pingEvery;
    }

    public Duration closeWithin() {
        return closeWithin;
    }

    public List<String> subprotocols() {
        return subprotocols;
    }
}
