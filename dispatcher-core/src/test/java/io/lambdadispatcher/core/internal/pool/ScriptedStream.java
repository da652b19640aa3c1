package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A worker stream that keeps its request, and answers, refuses or loses it when the test says so.
 */
class ScriptedStream extends DiscardingSink implements Carrier {
    static final Failure GONE = new Failure(Failure.Kind.WORKER_LOST, "gone");

    final PoolShard shard;
    final PooledConnection worker;
    private final Consumer<ScriptedStream> onRequest;

    @Nullable
    Attempt attempt;

    @Nullable
    Http2Headers head;

    /**
     * The test opens the stream.
     *
     * @param onRequest is called for each request
     */
    ScriptedStream(PoolShard shard, PooledConnection worker, Consumer<ScriptedStream> onRequest) {
        this.shard = shard;
        this.worker = worker;
        this.onRequest = onRequest;
    }

    /** @param served receives the path of each request */
    ScriptedStream(PoolShard shard, PooledConnection worker, List<String> served) {
        this(shard, worker, stream -> served.add(stream.path()));
    }

    /** Opens the only stream of a worker. */
    static ScriptedStream ofNewWorker(PoolShard shard, List<String> served) {
        PooledConnection worker = new PooledConnection("worker");
        ScriptedStream stream = new ScriptedStream(shard, worker, served);
        shard.workers().onMember(worker);
        shard.workers().setOpen(worker, true);
        shard.workers().onStreamOpened(worker, stream);
        return stream;
    }

    String path() {
        return String.valueOf(head == null ? null : head.path());
    }

    @Override
    public RequestSink carry(Http2Headers requestHead, boolean end, int timeoutMillis, Attempt forAttempt) {
        head = requestHead;
        attempt = forAttempt;
        onRequest.accept(this);
        return this;
    }

    /** Has no effect if the stream carries no request. */
    void answer() {
        answer(new DefaultHttp2Headers().status("200"));
    }

    /** Has no effect if the stream carries no request. */
    void answer(Http2Headers response) {
        Attempt current = attempt;
        attempt = null;
        if (current != null) {
            current.onHead(response, true);
            worker.onExchangeEnd(false);
            shard.workers().onStreamFree(worker, this);
        }
    }

    /** Has no effect if the stream carries no request. */
    void refuse() {
        Attempt current = attempt;
        attempt = null;
        if (current != null) {
            worker.onRefused();
            current.onRefused(GONE);
            shard.workers().onStreamFree(worker, this);
        }
    }

    /** The worker disconnects. Its request may be sent again. */
    void lose() {
        shard.workers().onMemberGone(worker);
        shard.workers().onStreamClosed(worker, this, attempt == null);
        if (attempt != null) {
            attempt.onLost(GONE);
        }
    }

    @Override
    public String workerId() {
        return worker.workerId();
    }
}
