/**
 * The worker port and its connections. Each connection of an admitted worker is a {@link
 * io.lambdadispatcher.core.internal.worker.WorkerConnection} with its worker streams. A connection
 * and its streams are confined to the connection's event loop.
 */
@NullMarked
package io.lambdadispatcher.core.internal.worker;

import org.jspecify.annotations.NullMarked;
