/**
 * One pool per function. A pool has one {@link io.lambdadispatcher.core.internal.pool.PoolShard}
 * per event loop, which owns the worker streams and the waiting requests of that loop; only atomic
 * permits and counts are shared between them.
 */
@NullMarked
package io.lambdadispatcher.core.internal.pool;

import org.jspecify.annotations.NullMarked;
