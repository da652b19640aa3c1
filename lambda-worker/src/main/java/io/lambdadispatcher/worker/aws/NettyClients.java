package io.lambdadispatcher.worker.aws;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.SdkEventLoopGroup;

/**
 * Creates Netty's clients. All use one event loop, which starts with the first client. Any thread.
 */
final class NettyClients {
    /**
     * One is enough: an environment has one or two processors, which the worker's event loops also
     * use.
     */
    private static final int LOOPS = 1;

    private static final long MOST_STOP_SECONDS = 2;

    private final Duration maxIdle;
    private final UnaryOperator<NettyNioAsyncHttpClient.Builder> change;
    private @Nullable EventLoopGroup loops;

    NettyClients(Duration maxIdle, UnaryOperator<NettyNioAsyncHttpClient.Builder> change) {
        this.maxIdle = maxIdle;
        this.change = change;
    }

    SdkAsyncHttpClient make(int requests) {
        return change.apply(NettyNioAsyncHttpClient.builder()
                        .maxConcurrency(requests)
                        .connectionMaxIdleTime(maxIdle)
                        .useIdleConnectionReaper(true)
                        .tcpKeepAlive(true)
                        .eventLoopGroup(SdkEventLoopGroup.create(loops(), NioSocketChannel::new)))
                .build();
    }

    /** Returns Netty 4.1's class of event loops, because the SDK supports no other. */
    @SuppressWarnings("deprecation")
    private synchronized EventLoopGroup loops() {
        if (loops == null) {
            loops = new NioEventLoopGroup(LOOPS, new DefaultThreadFactory("aws-http", true));
        }
        return loops;
    }

    /**
     * Detaches the event loop. The next client starts a new one.
     *
     * @return ends the detached event loop. Returns when its thread has ended and all sockets are
     *     closed
     */
    synchronized Runnable detachLoops() {
        EventLoopGroup detached = loops;
        loops = null;
        return () -> {
            if (detached != null) {
                detached.shutdownGracefully(0, MOST_STOP_SECONDS, TimeUnit.SECONDS)
                        .awaitUninterruptibly();
            }
        };
    }
}
