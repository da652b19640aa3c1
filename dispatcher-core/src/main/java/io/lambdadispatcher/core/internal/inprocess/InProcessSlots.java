package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.pool.PooledConnection;
import io.lambdadispatcher.core.observe.WorkerKind;
import java.util.ArrayList;
import java.util.List;

/**
 * The streams of an {@link InProcessWorker} on one event loop, which are to the pool what a worker
 * connection is. Confined to the event loop.
 */
final class InProcessSlots {
    final PoolShard shard;
    final PooledConnection pooled;
    final InProcessCall.Factory calls;
    private final Runnable onGone;
    private final List<InProcessStream> streams = new ArrayList<>();
    private boolean draining;
    private boolean closed;

    /** @param onGone called once, when all streams are closed */
    InProcessSlots(PoolShard shard, String workerId, InProcessCall.Factory calls, Runnable onGone) {
        this.shard = shard;
        this.pooled = new PooledConnection(workerId);
        this.calls = calls;
        this.onGone = onGone;
    }

    void open(int count, WorkerKind kind) {
        if (closed) {
            return;
        }
        pooled.setKind(kind);
        shard.workers().onMember(pooled);
        for (int i = 0; i < count; i++) {
            InProcessStream stream = new InProcessStream(this);
            streams.add(stream);
            shard.workers().onStreamOpened(pooled, stream);
        }
        shard.workers().setOpen(pooled, true);
    }

    /** @param requests the most that the handler takes at once from these streams, 0 or more */
    void limit(int requests) {
        if (!closed) {
            shard.workers().onStated(pooled, requests);
        }
    }

    /** Takes no more requests, and closes when the handler has returned from all others. */
    void drain() {
        draining = true;
        if (!closed) {
            shard.workers().setOpen(pooled, false);
            closeIfDrained();
        }
    }

    void onFree(InProcessStream stream) {
        shard.workers().onStreamFree(pooled, stream);
        closeIfDrained();
    }

    private void closeIfDrained() {
        if (draining && pooled.busy() == 0) {
            close("it has drained");
        }
    }

    /** Cuts off what is in flight. */
    void close(String reason) {
        if (closed) {
            return;
        }
        closed = true;
        shard.workers().onMemberGone(pooled);
        streams.forEach(stream -> stream.close(reason));
        onGone.run();
    }

    void onClosed(InProcessStream stream, boolean wasFree) {
        shard.workers().onStreamClosed(pooled, stream, wasFree);
    }
}
