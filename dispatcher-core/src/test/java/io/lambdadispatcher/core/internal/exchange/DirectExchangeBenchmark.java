package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.direct.DirectShard;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
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
 * Measures sending a body to a function and back on the direct path, with one JSON event for each
 * request. The dispatcher's side is the real code, and {@link EchoFunction} is the function. AWS's
 * limits are switched off: base64 makes 7.7 MB of the largest body, and Lambda accepts 6 MiB.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DirectExchangeBenchmark {
    @Param({"ALB", "HTTP_API_V2"})
    public DirectEventFormat shape = DirectEventFormat.ALB;

    @Param({"0", "4", "1024", "16384", "168161", "1048576", "5767168"})
    public int bodyBytes;

    private final EchoClient client = new EchoClient();
    private DirectShard shard = shard();

    @Setup
    public void prepare() {
        shard = shard();
        client.prepare(shard, bodyBytes);
    }

    private DirectShard shard() {
        DirectOptions limitless = DirectOptions.builder(shape)
                .maxBodyBytes(Integer.MAX_VALUE)
                .maxEventBytes(Integer.MAX_VALUE)
                .maxResponseBytes(Integer.MAX_VALUE)
                .maxConcurrentInvocations(1)
                .build();
        return new DirectShard(
                FunctionOptions.of("echo"),
                new DirectFunction("echo", limitless, new EchoFunction()),
                client.eventLoop(),
                DispatcherObserver.NONE);
    }

    @TearDown
    public void release() {
        client.close();
    }

    @Benchmark
    public int exchange() {
        return client.exchange(shard);
    }
}
