/**
 * Options of a dispatcher. All of them are immutable, and any thread can use them. Builders are not
 * thread-safe.
 *
 * <pre>{@code
 * FunctionOptions images = FunctionOptions.builder("images")
 *         .workerTimeout(Duration.ofSeconds(30))
 *         .capacity(CapacityPolicy.builder().workers(0, 20).build())
 *         .build();
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.core.options;

import org.jspecify.annotations.NullMarked;
