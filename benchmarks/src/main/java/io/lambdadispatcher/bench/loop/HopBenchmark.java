package io.lambdadispatcher.bench.loop;

import io.lambdadispatcher.bench.Measured;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Calls from one busy thread to an event loop, by {@link EventLoop#execute}, until the last has run. One call shows a hop's latency, the
 * loop's waking included; many calls show what each adds.
 */
@State(Scope.Thread)
public class HopBenchmark extends Measured {
    @Param({"1", "16", "256"})
    public int calls;

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, ioHandlers());
    private final EventLoop loop = group.next();
    private final Runnable call = this::onLoop;
    private int run;
    private volatile boolean done;

    private static IoHandlerFactory ioHandlers() {
        return Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    }

    @Setup
    public void start() {
        loop.submit(() -> run = 0).syncUninterruptibly();
    }

    @TearDown
    public void stop() {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private void onLoop() {
        if (++run == calls) {
            run = 0;
            done = true;
        }
    }

    @Benchmark
    public void execute() {
        done = false;
        for (int i = 0; i < calls; i++) {
            loop.execute(call);
        }
        awaitDone();
    }

    private void awaitDone() {
        while (!done) {
            Thread.onSpinWait();
        }
    }
}
