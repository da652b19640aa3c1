package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.pool.PooledConnection;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import java.util.List;
import java.util.concurrent.TimeUnit;
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
 * Measures sending a body to a worker and back on a worker stream that has carried many requests.
 * As in {@link DirectExchangeBenchmark}, the dispatcher's side is the real code. {@link
 * FramedStream} replaces the worker stream.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class WorkerStreamExchangeBenchmark {
    @Param({"0", "4", "1024", "16384", "168161", "1048576", "5767168", "9365076", "67108864"})
    public int bodyBytes;

    private final EchoClient client = new EchoClient();
    private final PoolShard shard = shard();

    @Setup
    public void prepare() {
        PooledConnection member = new PooledConnection("worker");
        shard.workers().onMember(member);
        shard.workers().setOpen(member, true);
        shard.workers().onStreamOpened(member, new FramedStream(shard, member));
        client.prepare(shard::open, bodyBytes);
    }

    private PoolShard shard() {
        return new FunctionPool(FunctionOptions.of("echo"), List.of(client.eventLoop()), DispatcherObserver.NONE)
                .shard(0);
    }

    @TearDown
    public void release() {
        client.close();
    }

    @Benchmark
    public int exchange() {
        return client.exchange(shard::open);
    }
}
