/**
 * The settings of a worker: the function that it serves, the dispatchers that it dials, how it
 * authenticates, and how it verifies the dispatcher's certificate. They come from code, from an
 * invoke payload or from environment variables.
 *
 * <p><b>Threading.</b> All types except {@link
 * io.lambdadispatcher.worker.config.WorkerConfig.Builder} are immutable. Any thread.
 */
@NullMarked
package io.lambdadispatcher.worker.config;

import org.jspecify.annotations.NullMarked;
