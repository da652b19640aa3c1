/**
 * Handlers that may block. They use the streams of {@code java.io}, and each request has its own
 * thread, which is virtual if the JVM has virtual threads.
 *
 * <pre>{@code
 * BlockingHandler echo = (request, response) -> request.body().transferTo(response.body());
 * Handler handler = echo.asHandler();
 * }</pre>
 *
 * <p>Bytes are copied once, between a {@code byte[]} and a buffer. Otherwise, the rules of {@link
 * io.lambdadispatcher.worker.handler} apply.
 */
@NullMarked
package io.lambdadispatcher.worker.blocking;

import org.jspecify.annotations.NullMarked;
