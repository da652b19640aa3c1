/**
 * The worker side: the port that workers dial, one {@link
 * io.lambdadispatcher.core.internal.worker.WorkerConnection} for each connection that is let in,
 * and the worker streams on it. A connection and its streams are confined to the connection's event
 * loop.
 */
@NullMarked
package io.lambdadispatcher.core.internal.worker;

import org.jspecify.annotations.NullMarked;
