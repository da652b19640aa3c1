/**
 * A load of constant rate over HTTP/2 without TLS, and what it finds. Each request has a time at
 * which it should start; its latency counts from there, whether or not the client could start it in
 * time, so that a server which stops for a second is charged with every request of that second. All
 * of it runs on one event loop.
 */
@NullMarked
package io.lambdadispatcher.bench.load;

import org.jspecify.annotations.NullMarked;
