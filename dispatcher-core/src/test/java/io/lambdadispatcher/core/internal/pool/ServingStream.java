package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A worker stream that records the paths of its requests, and answers when the test says so. */
final class ServingStream extends DiscardingSink implements Carrier {
    private final PoolShard shard;
    private final PooledConnection worker;
    private final List<String> served;
    private @Nullable Attempt attempt;

    /** @param served receives the path of each request */
    ServingStream(PoolShard shard, PooledConnection worker, List<String> served) {
        this.shard = shard;
        this.worker = worker;
        this.served = served;
    }

    @Override
    public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
        served.add(String.valueOf(head.path()));
        attempt = forAttempt;
        return this;
    }

    /** Has no effect if the stream carries no request. */
    void answer() {
        Attempt current = attempt;
        attempt = null;
        if (current != null) {
            current.onHead(new DefaultHttp2Headers().status("200"), true);
            shard.onStreamFree(worker, this);
        }
    }

    /** The worker disconnects. Its request may be sent again. */
    void lose() {
        shard.onMemberGone(worker);
        shard.onStreamClosed(worker, this, attempt == null);
        if (attempt != null) {
            attempt.onLost(new Failure(Failure.Kind.WORKER_LOST, "gone"));
        }
    }

    @Override
    public String workerId() {
        return worker.workerId();
    }
}
