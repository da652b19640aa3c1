package io.lambdadispatcher.core.options;

import java.time.Duration;

/**
 * Limits and timeouts of client connections and requests. {@link Builder} states units, defaults
 * and ranges. Immutable.
 *
 * <pre>{@code
 * HttpLimits limits = HttpLimits.builder()
 *         .maxHeaderBytes(16 * 1024)
 *         .idleTimeout(Duration.ofSeconds(75))
 *         .maxConnections(50_000)
 *         .build();
 * }</pre>
 */
public final class HttpLimits {
    private static final int KIB = 1024;
    private static final int MIB = 1024 * KIB;

    /** Smallest {@link Builder#maxHeaderBytes}. */
    public static final int MIN_HEADER_BYTES = KIB;

    /**
     * Largest {@link Builder#maxHeaderBytes}. All headers of this size, 32 bytes for each, and the
     * headers that the dispatcher adds must fit in the header block of a worker stream, which is
     * 256 KiB.
     */
    public static final int MAX_HEADER_BYTES = 128 * KIB;

    /** Largest {@link Builder#maxConcurrentStreams}. */
    public static final int MAX_STREAMS = 1_000_000;

    /** Smallest {@link Builder#streamWindowBytes}: that of RFC 9113 section 6.9.2, and one byte. */
    public static final int MIN_WINDOW_BYTES = 64 * KIB;

    /** Largest {@link Builder#streamWindowBytes}. */
    public static final int MAX_WINDOW_BYTES = 64 * MIB;

    /** Largest {@link Builder#maxConnections}. */
    public static final int MAX_CONNECTIONS = 1_000_000;

    /** Twice this is the largest window of a connection (RFC 9113 section 6.9.1). */
    private static final long MAX_WINDOWS_BYTES = 1L << 30;

    private final int maxHeaderBytes;
    private final int maxHeaders;
    private final int maxRequestLineBytes;
    private final int maxConcurrentStreams;
    private final int streamWindowBytes;
    private final Duration headerTimeout;
    private final Duration idleTimeout;
    private final Duration maxConnectionAge;
    private final Duration bodyTimeout;
    private final Duration writeTimeout;
    private final int minDataRate;
    private final int maxResetsPerWindow;
    private final int maxConnections;
    private final int maxConnectionsPerAddress;
    private final long clientMemoryBytes;

    private HttpLimits(Builder from) {
        maxHeaderBytes = from.maxHeaderBytes;
        maxHeaders = from.maxHeaders;
        maxRequestLineBytes = from.maxRequestLineBytes;
        maxConcurrentStreams = from.maxConcurrentStreams;
        streamWindowBytes = from.streamWindowBytes;
        headerTimeout = from.headerTimeout;
        idleTimeout = from.idleTimeout;
        maxConnectionAge = from.maxConnectionAge;
        bodyTimeout = from.bodyTimeout;
        writeTimeout = from.writeTimeout;
        minDataRate = from.minDataRate;
        maxResetsPerWindow = from.maxResetsPerWindow;
        maxConnections = from.maxConnections;
        maxConnectionsPerAddress = from.maxConnectionsPerAddress;
        clientMemoryBytes = from.clientMemoryBytes;
        Check.range("maxHeaderBytes", maxHeaderBytes, MIN_HEADER_BYTES, MAX_HEADER_BYTES);
        Check.range("maxHeaders", maxHeaders, 8, 1_000);
        Check.range("maxRequestLineBytes", maxRequestLineBytes, 256, 64 * KIB);
        Check.range("maxConcurrentStreams", maxConcurrentStreams, 1, MAX_STREAMS);
        Check.range("streamWindowBytes", streamWindowBytes, MIN_WINDOW_BYTES, MAX_WINDOW_BYTES);
        Check.that(
                (long) maxConcurrentStreams * streamWindowBytes <= MAX_WINDOWS_BYTES,
                "maxConcurrentStreams × streamWindowBytes",
                Check.number((double) maxConcurrentStreams * streamWindowBytes),
                Check.number(MAX_WINDOWS_BYTES) + " or less, the largest connection window that HTTP/2 allows");
        Check.positive("headerTimeout", headerTimeout);
        Check.positive("idleTimeout", idleTimeout);
        Check.notNegative("maxConnectionAge", maxConnectionAge);
        Check.positive("bodyTimeout", bodyTimeout);
        Check.positive("writeTimeout", writeTimeout);
        Check.range("minDataRate", minDataRate, 0, MIB);
        Check.range("maxResetsPerWindow", maxResetsPerWindow, 1, 1_000_000);
        Check.range("maxConnections", maxConnections, 1, MAX_CONNECTIONS);
        Check.range("maxConnectionsPerAddress", maxConnectionsPerAddress, 1, MAX_CONNECTIONS);
        if (clientMemoryBytes != 0) {
            Check.atLeast("clientMemoryBytes", clientMemoryBytes, 16 * MIB);
        }
    }

    /** Starts limits with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the limits with the defaults of {@link Builder}. */
    public static HttpLimits defaults() {
        return builder().build();
    }

    /** Returns what {@link Builder#maxHeaderBytes} sets, in bytes. */
    public int maxHeaderBytes() {
        return maxHeaderBytes;
    }

    /** Returns the maximum number of a request's headers. See {@link Builder#maxHeaders}. */
    public int maxHeaders() {
        return maxHeaders;
    }

    /** Returns what {@link Builder#maxRequestLineBytes} sets, in bytes. */
    public int maxRequestLineBytes() {
        return maxRequestLineBytes;
    }

    /** Returns what {@link Builder#maxConcurrentStreams} sets. */
    public int maxConcurrentStreams() {
        return maxConcurrentStreams;
    }

    /** Returns what {@link Builder#streamWindowBytes} sets, in bytes. */
    public int streamWindowBytes() {
        return streamWindowBytes;
    }

    /** Returns what {@link Builder#headerTimeout} sets. */
    public Duration headerTimeout() {
        return headerTimeout;
    }

    /** Returns what {@link Builder#idleTimeout} sets. */
    public Duration idleTimeout() {
        return idleTimeout;
    }

    /** Returns what {@link Builder#maxConnectionAge} sets; zero = no limit. */
    public Duration maxConnectionAge() {
        return maxConnectionAge;
    }

    /** Returns what {@link Builder#bodyTimeout} sets. */
    public Duration bodyTimeout() {
        return bodyTimeout;
    }

    /** Returns what {@link Builder#writeTimeout} sets. */
    public Duration writeTimeout() {
        return writeTimeout;
    }

    /** Returns what {@link Builder#minDataRate} sets, in bytes per second; 0 = any. */
    public int minDataRate() {
        return minDataRate;
    }

    /** Returns what {@link Builder#maxResetsPerWindow} sets. */
    public int maxResetsPerWindow() {
        return maxResetsPerWindow;
    }

    /** Returns the maximum number of client connections. See {@link Builder#maxConnections}. */
    public int maxConnections() {
        return maxConnections;
    }

    /** Returns what {@link Builder#maxConnectionsPerAddress} sets. */
    public int maxConnectionsPerAddress() {
        return maxConnectionsPerAddress;
    }

    /** Returns what {@link Builder#clientMemoryBytes} sets, in bytes; 0 = it follows the JVM's. */
    public long clientMemoryBytes() {
        return clientMemoryBytes;
    }

    /**
     * Builds {@link HttpLimits}. Setters accept any value, and {@link #build} validates them. Not
     * thread-safe.
     */
    public static final class Builder {
        private int maxHeaderBytes = 64 * KIB;
        private int maxHeaders = 200;
        private int maxRequestLineBytes = 16 * KIB;
        private int maxConcurrentStreams = 100;
        private int streamWindowBytes = 256 * KIB;
        private Duration headerTimeout = Duration.ofSeconds(10);
        private Duration idleTimeout = Duration.ofMinutes(5);
        private Duration maxConnectionAge = Duration.ZERO;
        private Duration bodyTimeout = Duration.ofSeconds(20);
        private Duration writeTimeout = Duration.ofSeconds(30);
        private int minDataRate = 240;
        private int maxResetsPerWindow = 400;
        private int maxConnections = 10_000;
        private int maxConnectionsPerAddress = 5_000;
        private long clientMemoryBytes;

        private Builder() {}

        /**
         * Sets the maximum size of a request's headers. A request with larger headers gets 431.
         * HTTP/2 headers are counted uncompressed, with 32 bytes added for each (RFC 9113 section
         * 6.5.2). HTTP/1.1 headers are counted as they are sent. Default: 64 KiB.
         *
         * @param bytes 1 KiB to 128 KiB
         */
        public Builder maxHeaderBytes(int bytes) {
            maxHeaderBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum number of a request's headers. The pseudo-headers of HTTP/2 count. A
         * request with more gets 431. Default: 200.
         *
         * @param count 8 to 1,000
         */
        public Builder maxHeaders(int count) {
            maxHeaders = count;
            return this;
        }

        /**
         * Sets the maximum size of an HTTP/1.1 request line. A request with a longer one gets 414.
         * Default: 16 KiB.
         *
         * @param bytes 256 bytes to 64 KiB
         */
        public Builder maxRequestLineBytes(int bytes) {
            maxRequestLineBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum number of open streams on an HTTP/2 connection (RFC 9113 section 5.1.2).
         * Each request is one stream. Default: 100.
         *
         * @param streams 1 to {@value HttpLimits#MAX_STREAMS}
         */
        public Builder maxConcurrentStreams(int streams) {
            maxConcurrentStreams = streams;
            return this;
        }

        /**
         * Sets the flow-control window of an HTTP/2 stream (RFC 9113 section 5.2). The dispatcher
         * buffers at most this part of a request's body. A connection's window is larger than those
         * of its streams together, so one request never waits for another's body. Default: 256 KiB.
         *
         * @param bytes 64 KiB to 64 MiB
         */
        public Builder streamWindowBytes(int bytes) {
            streamWindowBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum time for all headers of a request to arrive. It also limits TLS and
         * protocol negotiation, and the time until a worker sends HELLO. Default: 10 s.
         *
         * @param timeout more than 0, at most 366 days
         */
        public Builder headerTimeout(Duration timeout) {
            headerTimeout = timeout;
            return this;
        }

        /**
         * Sets the time without a request after which a connection is closed. Default: 5 minutes.
         *
         * <p>If no byte moves in either direction for this time, it also ends:
         * <ul>
         *   <li>a request whose client continues to send after the headers of the response;
         *   <li>a WebSocket that one side has ended;
         *   <li>a gRPC call whose client may still send.
         * </ul>
         *
         * @param timeout more than 0, at most 366 days
         */
        public Builder idleTimeout(Duration timeout) {
            idleTimeout = timeout;
            return this;
        }

        /**
         * Sets the age at which a client must open a new connection, so that clients find new
         * dispatchers. Up to a tenth of it is added at random. Requests in flight are completed.
         * Default: 0, because each new connection costs the client a handshake.
         *
         * <ul>
         *   <li>HTTP/2: the client is told with GOAWAY (RFC 9113 section 6.8). The connection is
         *       closed when its streams have ended.
         *   <li>HTTP/1.1: the next response has {@code connection: close}. A connection without
         *       requests is closed by {@link #idleTimeout}.
         *   <li>A WebSocket stays open.
         * </ul>
         *
         * @param age 0 to 366 days; 0 for no limit
         */
        public Builder maxConnectionAge(Duration age) {
            maxConnectionAge = age;
            return this;
        }

        /**
         * Sets the maximum time without a byte of a request's body. Only the time in which the
         * client may send counts. It applies until the headers of the response have been sent, and
         * again to the rest of an HTTP/1.1 request after its response. A request that takes longer
         * gets 408, or its connection is closed after the response. A gRPC call over HTTP/2 has
         * {@link #idleTimeout} instead. Default: 20 s.
         *
         * @param timeout more than 0, at most 366 days
         */
        public Builder bodyTimeout(Duration timeout) {
            bodyTimeout = timeout;
            return this;
        }

        /**
         * Sets the maximum time in which a client takes no byte of a response that waits for it.
         * After this time, an HTTP/2 stream is reset. If the client's socket takes no byte at all,
         * the connection is closed. It also limits how long {@code Dispatcher.dispatch} keeps a
         * response whose body nobody reads. Default: 30 s.
         *
         * @param timeout more than 0, at most 366 days
         */
        public Builder writeTimeout(Duration timeout) {
            writeTimeout = timeout;
            return this;
        }

        /**
         * Sets the minimum rate at which a client sends a request's body and takes a response. A
         * request whose body is slower gets 408. A response that is taken more slowly is cut off.
         * Default: 240.
         *
         * <p>Only the time in which the dispatcher waits for the client counts. A client can be
         * slower for 10 s before it is judged, or for {@link #bodyTimeout} if that is longer and it
         * sends a body. A client that has been faster can be slower for at most 30 s, or for the
         * longer {@link #bodyTimeout}.
         *
         * <p>WebSockets are exempt, and so are request bodies after the response has begun. The
         * socket of an HTTP/2 connection is not exempt, even if all of its streams are WebSockets.
         *
         * @param bytesPerSecond 0 to 1 MiB; 0 allows any rate
         */
        public Builder minDataRate(int bytesPerSecond) {
            minDataRate = bytesPerSecond;
            return this;
        }

        /**
         * Sets the maximum number of streams on an HTTP/2 connection that the client resets, or
         * that it makes the dispatcher reset, within 30 s. The connection is closed if there are
         * more. This limits the rapid reset attack (CVE-2023-44487) and MadeYouReset
         * (CVE-2025-8671). Default: 400.
         *
         * @param resets 1 to 1,000,000
         */
        public Builder maxResetsPerWindow(int resets) {
            maxResetsPerWindow = resets;
            return this;
        }

        /**
         * Sets the maximum number of client connections. Further connections are closed when they
         * are accepted. The dispatcher lowers the limit and logs a warning if the process cannot
         * open enough files. Default: 10,000.
         *
         * @param connections 1 to {@value HttpLimits#MAX_CONNECTIONS}
         */
        public Builder maxConnections(int connections) {
            maxConnections = connections;
            return this;
        }

        /**
         * Sets the maximum number of connections from one address, which is an IPv4 address or the
         * first 64 bits of an IPv6 address. Further connections are closed when they are accepted.
         * All clients behind a load balancer or a NAT gateway share one address. Default: 5,000.
         *
         * @param connections 1 to {@value HttpLimits#MAX_CONNECTIONS}
         */
        public Builder maxConnectionsPerAddress(int connections) {
            maxConnectionsPerAddress = connections;
            return this;
        }

        /**
         * Sets the maximum memory that is held for clients: connections, queued requests, bodies,
         * and responses that clients do not take. Each event loop gets an equal part of it.
         * Default: half of the heap or of the direct memory, whichever is smaller.
         *
         * <p>When an event loop has used most of its part, the dispatcher takes these steps in
         * order:
         * <ol>
         *   <li>It buffers less of each request's body.
         *   <li>It refuses requests with 503. Clients that hold little memory are still served.
         *   <li>It closes the connections that hold the most memory.
         * </ol>
         *
         * @param bytes 16 MiB or more; 0 for the default
         */
        public Builder clientMemoryBytes(long bytes) {
            clientMemoryBytes = bytes;
            return this;
        }

        /**
         * Returns the limits.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public HttpLimits build() {
            return new HttpLimits(this);
        }
    }
}
