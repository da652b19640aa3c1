/**
 * The configuration of a worker: the function that it serves, the dispatchers that it connects to,
 * how it authenticates, and how it verifies the dispatcher's certificate. It comes from code, from
 * an invoke payload or from environment variables.
 *
 * <pre>{@code
 * WorkerConfig config = WorkerConfig.ofEnvironment(System.getenv());
 * }</pre>
 *
 * <p><b>Threading.</b> All types except {@link
 * io.lambdadispatcher.worker.config.WorkerConfig.Builder} are immutable, and any thread can use
 * them.
 */
@NullMarked
package io.lambdadispatcher.worker.config;

import org.jspecify.annotations.NullMarked;
