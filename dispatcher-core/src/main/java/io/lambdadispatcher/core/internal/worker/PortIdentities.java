package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.wire.worker.PortKey;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.ssl.SniCompletionEvent;
import io.netty.handler.ssl.SniHandler;
import io.netty.handler.ssl.SslContext;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * The keys with which the worker port can prove to workers that it is the dispatcher's: one for
 * each secret, or that of configured files. Immutable. Any thread.
 *
 * @param contexts without any, the port has no TLS
 * @param fingerprints one for each context, as workers expect them
 */
public record PortIdentities(List<SslContext> contexts, List<String> fingerprints) {
    private static final int MAX_CLIENT_HELLO_BYTES = 16 * 1024;

    /** Of a port in clear text. */
    public static final PortIdentities NONE = new PortIdentities(List.of(), List.of());

    public boolean hasTls() {
        return !contexts.isEmpty();
    }

    /**
     * Adds the handlers of a connection. If there are several keys, a worker asks for the one that
     * it expects by its server name, so that workers with each of the secrets are served while a
     * secret is replaced.
     *
     * @param timeout maximum time until the server name has arrived
     * @param http2 writes as soon as it is added
     * @param onFailed receives what fails before that
     */
    void addHandlers(ChannelPipeline pipeline, Duration timeout, ChannelHandler http2, Consumer<Throwable> onFailed) {
        if (contexts.size() > 1) {
            pipeline.addLast(new SniHandler(
                    (name, promise) -> promise.setSuccess(named(name)), MAX_CLIENT_HELLO_BYTES, timeout.toMillis()));
            pipeline.addLast(new AwaitTls(http2, onFailed));
        } else {
            if (hasTls()) {
                pipeline.addLast(contexts.get(0).newHandler(pipeline.channel().alloc()));
            }
            pipeline.addLast(http2);
        }
    }

    /** Keeps HTTP/2 from writing in clear text before TLS has its key. */
    private static final class AwaitTls extends ChannelInboundHandlerAdapter {
        private final ChannelHandler next;
        private final Consumer<Throwable> onFailed;

        AwaitTls(ChannelHandler next, Consumer<Throwable> onFailed) {
            this.next = next;
            this.onFailed = onFailed;
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof SniCompletionEvent sni && sni.isSuccess()) {
                ctx.pipeline().replace(this, null, next);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            onFailed.accept(cause);
            ctx.close();
        }
    }

    private SslContext named(String name) {
        return IntStream.range(0, contexts.size())
                .filter(i -> PortKey.serverName(fingerprints.get(i)).equals(name))
                .mapToObj(contexts::get)
                .findFirst()
                .orElse(contexts.get(0));
    }
}
