package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.internal.engine.Descriptors;
import io.lambdadispatcher.core.internal.engine.Engine;
import io.lambdadispatcher.core.internal.engine.TlsContexts;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.ingress.PublicChannelInitializer;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.HealthCheck;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslContext;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The public ports, and what holds for all clients. Any thread, except what changes it: the owner
 * makes one change at a time.
 */
public final class ClientSide {
    private static final long ACCEPT_CHECK_MILLIS = 20;

    private final Engine engine;
    private final DispatcherObserver observer;
    private final Incidents incidents;
    private final @Nullable ErrorRenderer errorRenderer;
    private final @Nullable String failureHeader;
    private final @Nullable HealthCheck healthCheck;
    private final CorsMemory cors = new CorsMemory();
    private final IngressDrain drain = new IngressDrain();
    private final Descriptors descriptors = Descriptors.ofProcess();
    private final ClientGuard guard;
    private final int acceptsPerTurn;
    private final List<PublicChannelInitializer> handlers = new ArrayList<>();
    private final List<Channel> ports = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Void> accepting = new CompletableFuture<>();
    private Set<String> headersOfRouter;
    private volatile PublicChannelInitializer.Rules rules;

    ClientSide(
            BuilderOptions.Clients options,
            List<FunctionOptions> functions,
            RequestRouter router,
            Engine engine,
            DispatcherObserver observer,
            Incidents incidents) {
        this.engine = engine;
        this.incidents = incidents;
        this.observer = observer;
        errorRenderer = options.errorRenderer;
        failureHeader = options.failureHeader;
        healthCheck = options.healthCheck;
        headersOfRouter = router.requestHeaders();
        rules = newRules(options.limits, options.forwarding);
        int connections = descriptors.forClients(options.limits, functions);
        acceptsPerTurn = descriptors.acceptsPerTurn(connections);
        guard = new ClientGuard(
                options.limits, connections, engine.loopIndexes().keySet(), new Protections());
        engine.limitWaitingBy(guard::freeBytes);
    }

    /** Passes protections on to the observer, and reports the connections that are closed. */
    private final class Protections implements DispatcherObserver {
        @Override
        public void onProtection(Protection protection) {
            observer.onProtection(protection);
            String why = switch (protection) {
                case CONNECTION_LIMIT -> "there are too many, see http.max-connections";
                case ADDRESS_LIMIT -> "too many come from one address, see http.max-connections and forwarding.trust";
                case MEMORY_CUT -> "they hold too much memory, see http.client-memory";
                default -> null;
            };
            if (why != null) {
                String code = protection.name().toLowerCase(Locale.ROOT);
                incidents.count(Incident.Kind.CONNECTIONS_REFUSED, "", code, () -> why);
            }
        }
    }

    /** Returns how many connections a port accepts in one turn of an event loop. */
    int acceptsPerTurn() {
        return acceptsPerTurn;
    }

    /** Opens a port, which may not accept clients before {@link #acceptWhen}. */
    Channel listen(ListenerOptions listener) {
        BuilderChecks.requirePublic(listener);
        TlsOptions tls = listener.tls();
        PublicChannelInitializer handler = newHandler(
                tls == null ? null : TlsContexts.forClients(tls),
                tls == null ? "http" : "https",
                listener.isProxyProtocol());
        Channel port = engine.listen(listener, handler, acceptsPerTurn, guard::onAccepted);
        handlers.add(handler);
        ports.add(port);
        return port;
    }

    /** Opens a port that accepts clients. */
    public Channel open(ListenerOptions listener) {
        Channel port = listen(listener);
        Engine.accept(port);
        return port;
    }

    /**
     * Lets clients in, on sockets that the program has opened as soon as {@code ready} says so.
     * Until then, clients of such a socket are served by another process, or wait in its queue.
     *
     * @param loop calls {@code ready} every few milliseconds
     */
    void acceptWhen(BooleanSupplier ready, EventLoop loop) {
        boolean anyHeld = ports.stream().anyMatch(port -> !port.config().isAutoRead());
        if (anyHeld && !ready.getAsBoolean()) {
            if (ports.stream().anyMatch(Channel::isOpen)) {
                loop.schedule(() -> acceptWhen(ready, loop), ACCEPT_CHECK_MILLIS, TimeUnit.MILLISECONDS);
            }
            return;
        }
        ports.forEach(Engine::accept);
        accepting.complete(null);
    }

    /** Completes when all ports that were opened at the start accept clients. */
    public CompletionStage<Void> accepting() {
        return accepting.minimalCompletionStage();
    }

    /** @param tls {@code null} if there is none, or if the owner of the channel adds it */
    public PublicChannelInitializer newHandler(@Nullable SslContext tls, String scheme, boolean proxied) {
        Function<EventLoop, ExchangeOpener> openers = engine::opener;
        HealthCheck check = healthCheck;
        return new PublicChannelInitializer(
                () -> rules,
                tls,
                scheme,
                proxied,
                check == null ? openers : openers.andThen(check::before),
                observer,
                drain,
                guard);
    }

    /** @throws IllegalArgumentException if no port with TLS has the index */
    PublicChannelInitializer handlerWithTls(int index) {
        if (index < 0 || index >= handlers.size() || !handlers.get(index).hasTls()) {
            throw new IllegalArgumentException(
                    "publicTls: listener " + index + ", expected the index of a public listener that has TLS");
        }
        return handlers.get(index);
    }

    /** @param headers those that the router reads */
    void setRouter(RequestRouter router, Set<String> headers) {
        engine.setRouter(router);
        headersOfRouter = headers;
    }

    /**
     * Applies the policies and the router as they are now.
     *
     * @param limits {@code null} to keep them
     * @param forwarding {@code null} to keep it
     */
    void setRules(@Nullable HttpLimits limits, @Nullable ForwardingPolicy forwarding) {
        if (limits != null) {
            List<FunctionOptions> functions =
                    engine.pools().values().stream().map(FunctionPool::options).toList();
            guard.setLimits(limits, descriptors.forClients(limits, functions));
        }
        rules = newRules(
                limits == null ? rules.limits() : limits,
                forwarding == null ? rules.headers().policy() : forwarding);
    }

    private PublicChannelInitializer.Rules newRules(HttpLimits limits, ForwardingPolicy forwarding) {
        Set<String> headers = new HashSet<>(headersOfRouter);
        engine.pools()
                .values()
                .forEach(pool -> headers.addAll(pool.options().traffic().requestHeaders()));
        return new PublicChannelInitializer.Rules(
                limits,
                new TrustedHeaders(forwarding, headers),
                new ErrorAnswers(errorRenderer, forwarding, failureHeader, cors, incidents));
    }

    public HttpLimits limits() {
        return rules.limits();
    }

    public ClientSnapshot snapshot() {
        return guard.snapshot();
    }

    /** Returns the addresses of the ports, in the order in which they were opened. */
    public List<InetSocketAddress> addresses() {
        return ports.stream()
                .map(port -> (InetSocketAddress) port.localAddress())
                .toList();
    }

    /** Completes when no port is open. */
    CompletableFuture<Void> closePorts() {
        return Shutdown.closed(ports);
    }

    IngressDrain connections() {
        return drain;
    }
}
