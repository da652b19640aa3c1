/**
 * The dispatcher as a library. {@link io.lambdadispatcher.core.Dispatcher} receives requests of
 * HTTP clients and of the embedding program, and passes each to a worker.
 *
 * <pre>{@code
 * try (Dispatcher dispatcher = Dispatcher.builder()
 *         .function(FunctionOptions.of("hello"))
 *         .workerListener(ListenerOptions.workers("0.0.0.0", 8444))
 *         .secret("sixteen bytes at least")
 *         .start()) {
 *     DispatchRequest request = DispatchRequest.get("/greeting").build();
 *     dispatcher.dispatch(request).thenAccept(response -> System.out.println(response.status()));
 * }
 * }</pre>
 *
 * <ul>
 *   <li>{@link io.lambdadispatcher.core.options}: functions, ports, TLS, limits and scaling
 *   <li>{@link io.lambdadispatcher.core.request}: requests of the embedding program
 *   <li>{@link io.lambdadispatcher.core.observe}: events and snapshots
 *   <li>{@link io.lambdadispatcher.core.spi}: interfaces that a program can implement
 * </ul>
 */
@NullMarked
package io.lambdadispatcher.core;

import org.jspecify.annotations.NullMarked;
