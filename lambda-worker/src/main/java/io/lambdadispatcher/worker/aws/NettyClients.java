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
 * Makes Netty's clients, all on one event loop, which starts with the first of them. Any thread.
 */
final class NettyClients {
    /** An environment has a processor or two, and shares them with the worker's own event loops. */
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

    /** Of the class that Netty 4.1 has: the SDK knows no other. */
    @SuppressWarnings("deprecation")
    private synchronized EventLoopGroup loops() {
        if (loops == null) {
            loops = new NioEventLoopGroup(LOOPS, new DefaultThreadFactory("aws-http", true));
        }
        return loops;
    }

    /**
     * Returns when the thread has ended and all its sockets are closed. The next client starts
     * another.
     */
    void stop() {
        EventLoopGroup ending;
        synchronized (this) {
            ending = loops;
            loops = null;
        }
        if (ending != null) {
            ending.shutdownGracefully(0, MOST_STOP_SECONDS, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }
}
