/**
 * The form of a handler that may block: streams from {@code java.io}, one thread per request,
 * virtual where the JVM has such. Bytes are copied once, between a {@code byte[]} and a buffer;
 * everything else is as in {@code io.lambdadispatcher.worker.handler}.
 */
@NullMarked
package io.lambdadispatcher.worker.blocking;

import org.jspecify.annotations.NullMarked;
