/**
 * Generates a load of constant rate over HTTP/2 without TLS, and measures latencies.
 *
 * <p>Each request has a time at which it should start. Its latency counts from this time, even if
 * the client starts it late. So if a server stops for a second, all requests of that second show
 * it. Everything runs on one event loop.
 */
@NullMarked
package io.lambdadispatcher.bench.load;

import org.jspecify.annotations.NullMarked;
