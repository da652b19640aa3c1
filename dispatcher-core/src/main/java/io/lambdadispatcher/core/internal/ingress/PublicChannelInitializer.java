package io.lambdadispatcher.core.internal.ingress;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.ingress.edge.ClientAccount;
import io.lambdadispatcher.core.internal.ingress.edge.ClientCertificate;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.ingress.edge.UnsentLimit;
import io.lambdadispatcher.core.internal.ingress.http1.Http1ClientConnection;
import io.lambdadispatcher.core.internal.ingress.http2.Http2ClientConnection;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sets up each client connection. If a load balancer is in front that sends a PROXY header, the
 * header comes first. With TLS, ALPN selects the protocol. Without TLS, the first bytes do. An
 * embedding program can also use it as a handler in its own pipeline, on one of the
 * dispatcher's event loops. All event loops use it.
 */
public final class PublicChannelInitializer extends ChannelInitializer<Channel> {
    private static final Logger log = LoggerFactory.getLogger(PublicChannelInitializer.class);

    /** What a client connection obeys from its beginning to its end. */
    public record Rules(HttpLimits limits, TrustedHeaders headers, ErrorAnswers errors) {}

    private final Supplier<Rules> rules;
    private volatile @Nullable SslContext tls;
    private final String scheme;
    private final boolean proxied;
    private final Function<EventLoop, ExchangeOpener> openers;
    private final DispatcherObserver observer;
    private final IngressDrain drain;
    private final ClientGuard guard;

    /**
     * @param rules returns the rules of a new connection
     * @param tls {@code null} for plain text, or if the pipeline does TLS
     * @param scheme {@code http} or {@code https}, as the client sees it
     * @param proxied whether each connection begins with a PROXY header
     */
    public PublicChannelInitializer(
            Supplier<Rules> rules,
            @Nullable SslContext tls,
            String scheme,
            boolean proxied,
            Function<EventLoop, ExchangeOpener> openers,
            DispatcherObserver observer,
            IngressDrain drain,
            ClientGuard guard) {
        this.rules = rules;
        this.tls = tls;
        this.scheme = scheme;
        this.proxied = proxied;
        this.openers = openers;
        this.observer = observer;
        this.drain = drain;
        this.guard = guard;
    }

    /** Replaces the certificate that new connections see. The port must have TLS already. */
    public void setTls(SslContext value) {
        tls = value;
    }

    public boolean hasTls() {
        return tls != null;
    }

    @Override
    protected void initChannel(Channel channel) {
        ClientAccount account = guard.admit(channel, hasTls(), openers.apply(channel.eventLoop()));
        if (account == null) {
            return;
        }
        channel.pipeline().addLast(account);
        drain.register(channel, new Starting(channel, drain));
        long timeoutNanos = rules.get().limits().headerTimeout().toNanos();
        if (proxied) {
            ProxyHeaderHandler.install(
                    channel.pipeline(),
                    timeoutNanos,
                    observer,
                    (client, leftNanos) -> serve(channel, account, client, leftNanos));
        } else {
            serve(channel, account, channel.remoteAddress(), timeoutNanos);
        }
    }

    /**
     * @param client the client's address, which a load balancer may have named
     * @param leftNanos what is left of the time for the connection's start
     */
    private void serve(Channel channel, ClientAccount account, @Nullable SocketAddress client, long leftNanos) {
        if (!guard.admitAddress(channel, client)) {
            return;
        }
        observer.onClientConnected();
        channel.closeFuture().addListener(closed -> observer.onClientDisconnected());
        UnsentLimit.set(channel);
        Rules current = rules.get();
        IngressContext context = new IngressContext(
                current.limits(), current.headers(), account, drain, current.errors(), scheme, client, observer, null);
        SslContext secured = tls;
        if (secured == null) {
            channel.pipeline().addLast(new ProtocolDetector(context, leftNanos));
            return;
        }
        SslHandler handler = secured.newHandler(channel.alloc());
        // 0 would mean no timeout.
        handler.setHandshakeTimeoutMillis(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
        guard.addTls(channel, handler, client);
        channel.pipeline().addLast(new AlpnHandler(context));
    }

    /**
     * A connection whose protocol is not known yet, for example one that a browser has opened in
     * advance. Its first request may be in transit when it must drain.
     */
    private record Starting(Channel channel, IngressDrain all) implements IngressDrain.Drainable {
        @Override
        public void drain() {
            channel.eventLoop()
                    .schedule(
                            () -> all.closeUnlessReplaced(channel, this),
                            IngressDrain.TRANSIT_MILLIS,
                            TimeUnit.MILLISECONDS);
        }
    }

    /** Installs the protocol that was negotiated in the TLS handshake (RFC 7301). */
    private static final class AlpnHandler extends ApplicationProtocolNegotiationHandler {
        private final IngressContext context;

        AlpnHandler(IngressContext context) {
            super(ApplicationProtocolNames.HTTP_1_1);
            this.context = context;
        }

        @Override
        protected void configurePipeline(ChannelHandlerContext ctx, String protocol) {
            SslHandler tls = ctx.pipeline().get(SslHandler.class);
            IngressContext known =
                    context.withCertificate(ClientCertificate.of(tls.engine().getSession()));
            if (ApplicationProtocolNames.HTTP_2.equals(protocol)) {
                Http2ClientConnection.install(ctx.pipeline(), known);
            } else {
                Http1ClientConnection.install(ctx.pipeline(), known);
            }
        }

        @Override
        protected void handshakeFailure(ChannelHandlerContext ctx, Throwable cause) {
            log.debug("client {}: TLS handshake failed: {}", context.client(), PrintableText.startOf(cause));
            ctx.close();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            log.debug("client {}: {}", context.client(), PrintableText.startOf(cause));
            ctx.close();
        }
    }
}
