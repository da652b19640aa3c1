package io.lambdadispatcher.core.options;

import java.time.Duration;

/** Limits on what a client can cost the dispatcher. Immutable. {@link Builder} states units, defaults and ranges. */
public final class HttpLimits {
    private static final int KIB = 1024;
    private static final int MIB = 1024 * KIB;

    /** A connection's window cannot be smaller: it starts with this size (RFC 9113 section 6.9.2). */
    private static final int MIN_WINDOW_BYTES = 65_535;

    private final int maxHeadBytes;
    private final int maxHeadFields;
    private final int maxRequestLineBytes;
    private final int maxConcurrentStreams;
    private final int streamWindowBytes;
    private final int connectionWindowBytes;
    private final Duration headTimeout;
    private final Duration idleTimeout;
    private final Duration bodyTimeout;
    private final Duration writeTimeout;
    private final int minRate;
    private final int maxResetsPerWindow;
    private final int maxConnections;
    private final int maxConnectionsPerAddress;
    private final long clientMemoryBytes;

    private HttpLimits(Builder from) {
        maxHeadBytes = from.maxHeadBytes;
        maxHeadFields = from.maxHeadFields;
        maxRequestLineBytes = from.maxRequestLineBytes;
        maxConcurrentStreams = from.maxConcurrentStreams;
        streamWindowBytes = from.streamWindowBytes;
        connectionWindowBytes = from.connectionWindowBytes;
        headTimeout = from.headTimeout;
        idleTimeout = from.idleTimeout;
        bodyTimeout = from.bodyTimeout;
        writeTimeout = from.writeTimeout;
        minRate = from.minRate;
        maxResetsPerWindow = from.maxResetsPerWindow;
        maxConnections = from.maxConnections;
        maxConnectionsPerAddress = from.maxConnectionsPerAddress;
        clientMemoryBytes = from.clientMemoryBytes;
        Check.range("maxHeadBytes", maxHeadBytes, KIB, 256 * KIB);
        Check.range("maxHeadFields", maxHeadFields, 8, 10_000);
        Check.range("maxRequestLineBytes", maxRequestLineBytes, 256, 256 * KIB);
        Check.range("maxConcurrentStreams", maxConcurrentStreams, 1, 1_000_000);
        Check.range("streamWindowBytes", streamWindowBytes, MIN_WINDOW_BYTES, 64 * MIB);
        Check.range("connectionWindowBytes", connectionWindowBytes, MIN_WINDOW_BYTES, 512 * MIB);
        Check.positive("headTimeout", headTimeout);
        Check.positive("idleTimeout", idleTimeout);
        Check.positive("bodyTimeout", bodyTimeout);
        Check.positive("writeTimeout", writeTimeout);
        Check.range("minRate", minRate, 0, MIB);
        Check.range("maxResetsPerWindow", maxResetsPerWindow, 1, 1_000_000);
        Check.range("maxConnections", maxConnections, 1, 1_000_000);
        Check.range("maxConnectionsPerAddress", maxConnectionsPerAddress, 1, 1_000_000);
        if (clientMemoryBytes != 0) {
            Check.atLeast("clientMemoryBytes", clientMemoryBytes, 16 * MIB);
        }
    }

    public static Builder builder() {
        return new Builder();
    }

    public static HttpLimits defaults() {
        return builder().build();
    }

    public int maxHeadBytes() {
        return maxHeadBytes;
    }

    public int maxHeadFields() {
        return maxHeadFields;
    }

    public int maxRequestLineBytes() {
        return maxRequestLineBytes;
    }

    public int maxConcurrentStreams() {
        return maxConcurrentStreams;
    }

    public int streamWindowBytes() {
        return streamWindowBytes;
    }

    public int connectionWindowBytes() {
        return connectionWindowBytes;
    }

    public Duration headTimeout() {
        return headTimeout;
    }

    public Duration idleTimeout() {
        return idleTimeout;
    }

    public Duration bodyTimeout() {
        return bodyTimeout;
    }

    public Duration writeTimeout() {
        return writeTimeout;
    }

    public int minRate() {
        return minRate;
    }

    public int maxResetsPerWindow() {
        return maxResetsPerWindow;
    }

    public int maxConnections() {
        return maxConnections;
    }

    public int maxConnectionsPerAddress() {
        return maxConnectionsPerAddress;
    }

    /** Returns 0 for half of the smaller one of heap and direct memory. */
    public long clientMemoryBytes() {
        return clientMemoryBytes;
    }

    /** Not thread-safe. Setters accept any value; {@link #build} validates. */
    public static final class Builder {
        private int maxHeadBytes = 64 * KIB;
        private int maxHeadFields = 200;
        private int maxRequestLineBytes = 16 * KIB;
        private int maxConcurrentStreams = 100;
        private int streamWindowBytes = 256 * KIB;
        private int connectionWindowBytes = MIB;
        private Duration headTimeout = Duration.ofSeconds(10);
        private Duration idleTimeout = Duration.ofMinutes(5);
        private Duration bodyTimeout = Duration.ofSeconds(20);
        private Duration writeTimeout = Duration.ofSeconds(30);
        private int minRate = 240;
        private int maxResetsPerWindow = 400;
        private int maxConnections = 10_000;
        private int maxConnectionsPerAddress = 5_000;
        private long clientMemoryBytes;

        private Builder() {}

        /**
         * Sets the maximum size of a request's headers, in bytes, counted as RFC 9113 section 6.5.2 says, or as they are
         * in HTTP/1.1. A request with larger headers gets 431. 1 KiB to 256 KiB. Default: 64 KiB.
         */
        public Builder maxHeadBytes(int bytes) {
            maxHeadBytes = bytes;
            return this;
        }

        /** Sets the maximum number of a request's headers. A request with more gets 431. 8 to 10,000. Default: 200. */
        public Builder maxHeadFields(int fields) {
            maxHeadFields = fields;
            return this;
        }

        /**
         * Sets the maximum size of an HTTP/1.1 request line, in bytes. A request with a longer one gets 414. 256 bytes to
         * 256 KiB. Default: 16 KiB.
         */
        public Builder maxRequestLineBytes(int bytes) {
            maxRequestLineBytes = bytes;
            return this;
        }

        /** Sets the maximum number of streams of an HTTP/2 connection. 1 to 1,000,000. Default: 100. */
        public Builder maxConcurrentStreams(int streams) {
            maxConcurrentStreams = streams;
            return this;
        }

        /**
         * Sets the flow-control window of an HTTP/2 stream, in bytes. The dispatcher buffers at most this part of a
         * request's body. 65,535 bytes to 64 MiB. Default: 256 KiB.
         */
        public Builder streamWindowBytes(int bytes) {
            streamWindowBytes = bytes;
            return this;
        }

        /**
         * Sets the flow-control window of an HTTP/2 connection, in bytes. The dispatcher buffers at most this part of all
         * request bodies of the connection. 65,535 bytes to 512 MiB. Default: 1 MiB.
         */
        public Builder connectionWindowBytes(int bytes) {
            connectionWindowBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum time for all headers of a request to arrive, for TLS and protocol negotiation, and for the
         * HELLO of a worker. More than 0. Default: 10 s.
         */
        public Builder headTimeout(Duration timeout) {
            headTimeout = timeout;
            return this;
        }

        /**
         * Sets the time without a request after which a connection is closed. It also ends a request whose client goes on
         * sending after the headers of the response, and a WebSocket of which one side has ended, if no byte moves in either
         * direction for this time. More than 0. Default: 5 minutes.
         */
        public Builder idleTimeout(Duration timeout) {
            idleTimeout = timeout;
            return this;
        }

        /**
         * Sets the maximum time without a byte of a request's body while the client may send, until the headers of the
         * response have been sent. A request that takes longer gets 408. A gRPC call has {@link #idleTimeout} instead. More than
         * 0. Default: 20 s.
         */
        public Builder bodyTimeout(Duration timeout) {
            bodyTimeout = timeout;
            return this;
        }

        /**
         * Sets the maximum time in which a client takes no byte of a waiting response. After it, an HTTP/2 stream is reset,
         * or the connection is closed if it takes nothing at all. More than 0. Default: 30 s.
         */
        public Builder writeTimeout(Duration timeout) {
            writeTimeout = timeout;
            return this;
        }

        /**
         * Sets the minimum rate, in bytes per second, at which a client sends a request's body and takes a response. Only
         * the time in which the client is waited for counts. A client is first judged after 10 s, and later by its rate
         * over the last 30 s or less. A request whose body is slower gets 408, a response that is taken more slowly is cut
         * off. WebSockets are exempt. 0 to 1 MiB, 0 allows any rate. Default: 240.
         */
        public Builder minRate(int bytesPerSecond) {
            minRate = bytesPerSecond;
            return this;
        }

        /**
         * Sets the maximum number of streams of a connection in 30 s that the client resets, or makes the dispatcher reset
         * by an error. More of them close it, because that is the rapid reset attack (CVE-2023-44487) or its twin
         * MadeYouReset (CVE-2025-8671). 1 to 1,000,000. Default: 400.
         */
        public Builder maxResetsPerWindow(int resets) {
            maxResetsPerWindow = resets;
            return this;
        }

        /**
         * Sets the maximum number of client connections. Further connections are closed when they are accepted. It is
         * lowered if the process may not open enough files. 1 to 1,000,000. Default: 10,000.
         */
        public Builder maxConnections(int connections) {
            maxConnections = connections;
            return this;
        }

        /**
         * Sets the maximum number of connections of a client address: an IPv4 address, or the first 64 bits of an IPv6
         * address. Further connections are closed when they are accepted. A load balancer or a NAT gateway is one
         * address, whatever the number of its clients. 1 to 1,000,000. Default: 5,000.
         */
        public Builder maxConnectionsPerAddress(int connections) {
            maxConnectionsPerAddress = connections;
            return this;
        }

        /**
         * Sets the maximum memory, in bytes, that is held for clients: connections, requests that wait, bodies, and
         * responses that clients do not take. Each event loop has an equal part of it. When a part is almost used up,
         * the dispatcher buffers less of each request body, then refuses requests, and at last closes the connections
         * that hold the most. At least 16 MiB, or 0 for half of the smaller one of heap and direct memory. Default: 0.
         */
        public Builder clientMemoryBytes(long bytes) {
            clientMemoryBytes = bytes;
            return this;
        }

        /** @throws IllegalArgumentException if a value is out of its range */
        public HttpLimits build() {
            return new HttpLimits(this);
        }
    }
}
