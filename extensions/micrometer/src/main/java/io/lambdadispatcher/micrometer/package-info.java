/**
 * Micrometer metrics of a dispatcher.
 *
 * <pre>{@code
 * DispatcherMetrics metrics = new DispatcherMetrics(registry);
 * Dispatcher dispatcher = Dispatcher.builder()
 *         .function(FunctionOptions.of("images"))
 *         .publicListener(ListenerOptions.plain("0.0.0.0", 8080))
 *         .workerListener(ListenerOptions.workers("0.0.0.0", 8444))
 *         .secret(secret)
 *         .observer(metrics)
 *         .start();
 * metrics.watch(dispatcher);
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.micrometer;

import org.jspecify.annotations.NullMarked;
