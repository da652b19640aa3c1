/**
 * Handlers that may block. Bodies are streams of {@code java.io}, and each request has its own
 * thread, which is virtual if the JVM supports that. Bytes are copied once, between a {@code
 * byte[]} and a buffer. In all other respects, these handlers are like those of {@code
 * io.lambdadispatcher.worker.handler}.
 */
@NullMarked
package io.lambdadispatcher.worker.blocking;

import org.jspecify.annotations.NullMarked;
