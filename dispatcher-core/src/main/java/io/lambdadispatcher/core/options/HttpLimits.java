package io.lambdadispatcher.core.options;

import java.time.Duration;

/**
 * What a client may cost us.
 *
 * @param maxHeadBytes size of a request head as RFC 9113 section 6.5.2 counts it (HTTP/1.1: its octets); larger is 431
 * @param maxHeadFields fields in a head; more is 431
 * @param maxRequestLineBytes HTTP/1.1 request line; longer is 414
 * @param maxConcurrentStreams per HTTP/2 connection
 * @param streamWindowBytes HTTP/2 flow-control window of each stream: the most of one request body that waits in the dispatcher
 * @param connectionWindowBytes the same for a whole connection
 * @param headTimeout for a whole request head to arrive, and for TLS and protocol negotiation; on the worker port until HELLO
 * @param idleTimeout a connection without a request is closed after it
 * @param writeTimeout a connection that takes no octet for so long while a response waits is cut
 * @param maxResetsPerWindow RST_STREAM frames in 30 s before the connection is closed (rapid reset, CVE-2023-44487)
 */
public record HttpLimits(
        int maxHeadBytes,
        int maxHeadFields,
        int maxRequestLineBytes,
        int maxConcurrentStreams,
        int streamWindowBytes,
        int connectionWindowBytes,
        Duration headTimeout,
        Duration idleTimeout,
        Duration writeTimeout,
        int maxResetsPerWindow) {

    public static HttpLimits defaults() {
        return new HttpLimits(
                64 * 1024,
                200,
                16 * 1024,
                1000,
                256 * 1024,
                1024 * 1024,
                Duration.ofSeconds(10),
                Duration.ofMinutes(5),
                Duration.ofMinutes(2),
                400);
    }
}
