/**
 * The worker streams and queued requests of each function. Each function has one pool. A pool has
 * one {@link io.lambdadispatcher.core.internal.pool.PoolShard} per event loop, which owns the
 * worker streams and the queued requests of that loop. Shards share only atomic permits and counts.
 */
@NullMarked
package io.lambdadispatcher.core.internal.pool;

import org.jspecify.annotations.NullMarked;
