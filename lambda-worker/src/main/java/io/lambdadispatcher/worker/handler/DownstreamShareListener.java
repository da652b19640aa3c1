package io.lambdadispatcher.worker.handler;

import java.util.concurrent.CompletionStage;

/**
 * Implemented by a handler of any kind that opens connections to something that all workers of the
 * function share, for example to a database. The dispatcher divides the connections that it was
 * configured with ({@code function.downstream-connections}), and tells each worker its share.
 *
 * <p>{@code docs/guides/size-workers.md} has an example with a connection pool.
 *
 * <p>Not called if the function has no such limit, or if the worker was not launched by a
 * dispatcher.
 */
@FunctionalInterface
public interface DownstreamShareListener {
    /**
     * The number of connections that this worker may have has changed. Called first when the
     * handler has started and before the worker connects to a dispatcher, then whenever the share
     * changes, and last with 0, when the last request has ended and the worker is about to end.
     * Open no connection before the first call and after the last one: on Lambda, the process can
     * continue to exist without a worker.
     *
     * <p>Called on an event loop, which it must not block.
     *
     * @param connections 0 or more
     * @return completes when the worker has no more connections than this. Only then is what a
     *     smaller share has freed given to other workers. If a stage takes longer than 30 s or
     *     fails, the dispatcher replaces the worker. The worker does not connect before the first
     *     stage has completed, and does not end before the last one has
     */
    CompletionStage<?> onDownstreamShare(int connections);
}
