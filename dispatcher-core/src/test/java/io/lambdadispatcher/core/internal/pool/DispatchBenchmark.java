package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures ending one request and dispatching the next one: exchange, permit, choice among the
 * workers, deadline. Each worker has ten streams. Half of the streams are busy, and their requests
 * end in random order.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DispatchBenchmark {
    private static final int STREAMS_PER_WORKER = 10;
    private static final int ORDERS = 1 << 16;

    @Param({"10", "1000", "100000"})
    public int streams;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Http2Headers request =
            new DefaultHttp2Headers().method(HttpMethod.POST.asciiName()).path("/v1/orders");
    private final Http2Headers response = new DefaultHttp2Headers().status(HttpResponseStatus.OK.codeAsText());
    private final ResponseSink client = new Client();
    private PoolShard shard = newShard();
    private @Nullable Stream[] busy = {};
    private int[] order = {};
    private int step;
    private @Nullable Stream carrier;

    private PoolShard newShard() {
        return new FunctionPool(FunctionOptions.of("bench"), List.of(channel.eventLoop()), DispatcherObserver.NONE)
                .shard(0);
    }

    @Setup
    public void prepare() {
        shard = newShard();
        for (int i = 0; i < streams; i += STREAMS_PER_WORKER) {
            PooledConnection worker = new PooledConnection("worker " + i);
            shard.workers().onMember(worker);
            shard.workers().setOpen(worker, true);
            for (int j = 0; j < STREAMS_PER_WORKER; j++) {
                shard.workers().onStreamOpened(worker, new Stream(worker));
            }
        }
        busy = new Stream[streams / 2];
        order = new Random(streams).ints(ORDERS, 0, busy.length).toArray();
        for (int i = 0; i < busy.length; i++) {
            busy[i] = dispatch();
        }
    }

    @TearDown
    public void release() {
        channel.finishAndReleaseAll();
    }

    @Benchmark
    public void endAndDispatch() {
        int index = order[step++ & ORDERS - 1];
        Stream ended = busy[index];
        if (ended != null) {
            ended.answer();
        }
        busy[index] = dispatch();
    }

    private Stream dispatch() {
        carrier = null;
        shard.open(request, true, client);
        if (carrier == null) {
            throw new IllegalStateException("no stream free, expected half of " + streams);
        }
        return carrier;
    }

    /** A worker stream that takes a request, and answers it when the benchmark calls it. */
    private final class Stream extends DiscardingSink implements Carrier {
        private final PooledConnection worker;
        private @Nullable Attempt attempt;

        Stream(PooledConnection worker) {
            this.worker = worker;
        }

        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
            attempt = forAttempt;
            carrier = this;
            return this;
        }

        void answer() {
            if (attempt != null) {
                attempt.onHead(response, true);
            }
            shard.workers().onStreamFree(worker, this);
        }

        @Override
        public String workerId() {
            return worker.workerId();
        }
    }

    private static final class Client implements ResponseSink {
        @Override
        public void onInterim(Http2Headers head) {}

        @Override
        public void onHead(Http2Headers head, boolean end) {}

        @Override
        public void onData(ByteBuf data, boolean end) {
            data.release();
        }

        @Override
        public void onTrailers(Http2Headers trailers) {}

        @Override
        public void onFailure(Failure failure) {
            throw new IllegalStateException(failure.kind() + ": " + failure.detail());
        }

        @Override
        public void onRequestTaken(int bytes) {}
    }
}
