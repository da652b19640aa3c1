/**
 * The worker side: the port workers dial, one {@link io.lambdadispatcher.core.internal.worker.WorkerConnection} for each that does, and the
 * worker streams on it. A connection and its streams are confined to the connection's event loop.
 */
@NullMarked
package io.lambdadispatcher.core.internal.worker;

import org.jspecify.annotations.NullMarked;
