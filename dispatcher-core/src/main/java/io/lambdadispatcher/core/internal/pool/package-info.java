/**
 * The worker streams and queued requests of each function. Each function has one {@link
 * io.lambdadispatcher.core.internal.pool.FunctionPool}, which has one {@link
 * io.lambdadispatcher.core.internal.pool.PoolShard} per event loop. A shard owns the worker streams
 * and the requests of its loop. Shards share only atomic permits and counts.
 *
 * <p>A request passes these classes in order: {@code PoolShard} opens it, {@code ShardQueue} asks
 * {@code SetAside} whether it may go and {@code Placement} for a worker stream, which comes from
 * {@code FreeStreams}, here or by a {@code Crossing} from another loop. If there is none, {@code
 * WakeUps} serves the request later. A stream passes {@code ShardWorkers}, {@code FreeStreams} and
 * {@code WakeUps}.
 */
@NullMarked
package io.lambdadispatcher.core.internal.pool;

import org.jspecify.annotations.NullMarked;
