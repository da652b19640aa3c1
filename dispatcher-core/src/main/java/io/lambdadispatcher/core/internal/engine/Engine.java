package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.direct.DirectShard;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.filter.FilterLoop;
import io.lambdadispatcher.core.internal.filter.FunctionFilters;
import io.lambdadispatcher.core.internal.filter.RequestFilters;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannel;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.util.concurrent.BlockingOperationException;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The event loops, the channels that they have accepted, and each function's pool on them. Any
 * thread.
 */
public final class Engine {
    /**
     * Large enough that one flush writes a burst of large bodies, and small enough to limit the
     * bytes that wait.
     */
    private static final WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(256 * 1024, 512 * 1024);

    private static final Failure SHUTTING_DOWN = new Failure(Failure.Kind.SHUTTING_DOWN, "the dispatcher shuts down");

    private final Transport transport;
    private final EventLoopGroup group;
    private final boolean ownsGroup;
    private final AcceptedChannels accepted = new AcceptedChannels();
    private final Map<EventLoop, Integer> loopIndexes = new IdentityHashMap<>();
    private final Map<String, FunctionPool> pools = new LinkedHashMap<>();
    private final List<LoopDispatch> dispatches = new ArrayList<>();

    /** For each of them, the filters before the router, or itself. */
    private final List<ExchangeOpener> entrances = new ArrayList<>();

    private final Map<String, FunctionFilters> filters = new LinkedHashMap<>();

    /**
     * @param given event loops of the embedding program, which uses all of them and shuts down
     *     none; {@code null} to create {@code eventLoops} event loops
     * @param requestFilters the filters of the program
     */
    public Engine(
            Transport transport,
            @Nullable EventLoopGroup given,
            int eventLoops,
            List<FunctionOptions> functions,
            Map<String, DirectFunction> direct,
            RequestRouter router,
            RequestFilters requestFilters,
            DispatcherObserver observer) {
        this.transport = transport;
        ownsGroup = given == null;
        group = given != null
                ? given
                : new MultiThreadIoEventLoopGroup(
                        eventLoops, new DefaultThreadFactory("dispatcher"), transport.ioHandler());
        List<EventLoop> loops = new ArrayList<>();
        for (EventExecutor executor : group) {
            EventLoop loop = (EventLoop) executor;
            loopIndexes.put(loop, loops.size());
            loops.add(loop);
        }
        for (FunctionOptions function : functions) {
            pools.put(function.name(), new FunctionPool(function, loops, observer));
            filters.put(function.name(), new FunctionFilters(function.name(), observer));
        }
        for (int i = 0; i < loops.size(); i++) {
            List<ExchangeOwner> owners = new ArrayList<>();
            EventLoop loop = loops.get(i);
            Map<String, FunctionOpener> openers = openersOf(i, direct, observer, owners);
            int index = i;
            FilterLoop home = new FilterLoop(
                    loop,
                    observer,
                    (function, request, client) -> dispatches.get(index).send(function, request, client));
            Map<String, FunctionOpener> behind = new HashMap<>();
            Map<String, FunctionOpener> filtered = new HashMap<>();
            openers.forEach((name, opener) -> {
                FunctionOpener plain = requestFilters.atFunction(name, opener, false, home);
                behind.put(name, requestFilters.beforeFunction(name, plain, false, home));
                FunctionOpener inner = requestFilters.atFunction(name, opener, true, home);
                FunctionOpener around =
                        Objects.requireNonNull(filters.get(name), name).around(inner, loop);
                filtered.put(name, requestFilters.beforeFunction(name, around, true, home));
            });
            LoopDispatch dispatch = new LoopDispatch(loop, router, openers, behind, filtered, owners, home, observer);
            dispatches.add(dispatch);
            entrances.add(requestFilters.beforeRouter(dispatch, home));
        }
    }

    /** @param owners receives the owners of all exchanges */
    private Map<String, FunctionOpener> openersOf(
            int loopIndex,
            Map<String, DirectFunction> direct,
            DispatcherObserver observer,
            List<ExchangeOwner> owners) {
        Map<String, FunctionOpener> all = new HashMap<>();
        pools.forEach(
                (name, pool) -> all.put(name, openerOf(pool.shard(loopIndex), direct.get(name), observer, owners)));
        return all;
    }

    private static FunctionOpener openerOf(
            PoolShard shard,
            @Nullable DirectFunction function,
            DispatcherObserver observer,
            List<ExchangeOwner> owners) {
        owners.add(shard);
        if (function == null) {
            return shard;
        }
        DirectShard direct = new DirectShard(shard.pool().options(), function, shard.loop(), observer);
        owners.add(direct);
        Duration spilloverAfter = function.options().spilloverAfter();
        if (spilloverAfter == null) {
            return direct;
        }
        shard.overflow(spilloverAfter, direct::newOverflow);
        return shard;
    }

    /**
     * Limits the memory of queued requests. Called before the first request.
     *
     * @param freeBytes returns the memory that the clients of an event loop leave free, in bytes
     */
    public void limitWaitingBy(ToLongFunction<EventLoop> freeBytes) {
        for (FunctionPool pool : pools.values()) {
            pool.shards().forEach(shard -> shard.limitMemoryBy(() -> freeBytes.applyAsLong(shard.loop())));
        }
    }

    /** Replaces what chooses the function of later requests. */
    public void setRouter(RequestRouter router) {
        dispatches.forEach(dispatch -> dispatch.setRouter(router));
    }

    /**
     * Replaces the options of the function with the same name. Requests that are queued or in
     * flight keep their timeouts.
     */
    public void setOptions(FunctionOptions options) {
        Objects.requireNonNull(pools.get(options.name()), options.name()).setOptions(options);
        dispatches.forEach(dispatch -> dispatch.setOptions(options));
    }

    /** Closes breakers that no request asks any more. Called about once a second, on any thread. */
    public void closeUnusedBreakers() {
        long now = anyLoop().ticker().nanoTime();
        filters.values().forEach(each -> each.closeUnusedBreakers(now));
    }

    public List<BreakerSnapshot> breakers() {
        return filters.values().stream().flatMap(FunctionFilters::breakers).toList();
    }

    public Map<String, FunctionPool> pools() {
        return pools;
    }

    public Map<EventLoop, Integer> loopIndexes() {
        return loopIndexes;
    }

    /**
     * Returns the event loop of the calling thread if it belongs to this engine, otherwise the next
     * in turn.
     */
    public EventLoop anyLoop() {
        for (EventLoop loop : loopIndexes.keySet()) {
            if (loop.inEventLoop()) {
                return loop;
            }
        }
        return group.next();
    }

    /** Sends a request of the embedding program, on the event loop of the calling thread if any. */
    public CompletionStage<DispatchResponse> dispatch(DispatchRequest request, Duration unreadTimeout) {
        int index = Objects.requireNonNull(loopIndexes.get(anyLoop()));
        return dispatches.get(index).dispatch(entrances.get(index), request, unreadTimeout);
    }

    /** @throws IllegalStateException if the event loop does not belong to this engine */
    public ExchangeOpener opener(EventLoop loop) {
        Integer index = loopIndexes.get(loop);
        if (index == null) {
            throw new IllegalStateException("event loop " + loop + " is not one of this dispatcher's");
        }
        return entrances.get(index);
    }

    /**
     * Accepts several connections in one turn of the event loop. Netty's epoll channel accepts only
     * one, because it takes the new descriptor for a number of bytes, and stops if that is not the
     * number that it asked for. Without this, a client waited two seconds behind 300 others that
     * connected and sent bodies at the same time.
     */
    private static RecvByteBufAllocator accepts(int perTurn) {
        return new ServerChannelRecvByteBufAllocator()
                .respectMaybeMoreData(false)
                .maxMessagesPerRead(perTurn);
    }

    /**
     * Opens a port, or takes the socket that the program has opened, which accepts nobody before
     * {@link #accept}.
     *
     * @param acceptsPerTurn maximum number of connections that are accepted before the first of
     *     them can be closed
     * @param admission decides on the event loop of the port whether an accepted connection stays
     *     open; if not, it is closed immediately
     * @throws UncheckedIOException if that fails
     */
    public Channel listen(
            ListenerOptions listener, ChannelHandler child, int acceptsPerTurn, Predicate<Channel> admission) {
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(group)
                .option(ChannelOption.SO_BACKLOG, 4096)
                .option(ChannelOption.RECVBUF_ALLOCATOR, accepts(acceptsPerTurn))
                .option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.SO_KEEPALIVE, true)
                .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
                .handler(new Accepting(admission))
                .childHandler(child);
        ServerChannel socket = listener.socket();
        ChannelFuture bound = socket == null ? bind(bootstrap, listener) : take(bootstrap, socket);
        try {
            bound.awaitUninterruptibly();
        } catch (BlockingOperationException e) {
            // On the port's own event loop, which would open the port afterwards.
            bound.channel().close();
            throw e;
        }
        if (!bound.isSuccess()) {
            throw new UncheckedIOException(new IOException(
                    "cannot listen on " + listener.address().getHostString() + ":"
                            + listener.address().getPort() + ": "
                            + (listener.address().isUnresolved()
                                    ? "unknown host"
                                    : bound.cause().getMessage()),
                    bound.cause()));
        }
        return bound.channel();
    }

    /** Lets a port accept connections. */
    public static void accept(Channel port) {
        port.config().setAutoRead(true);
    }

    private ChannelFuture bind(ServerBootstrap bootstrap, ListenerOptions listener) {
        return bootstrap.channel(transport.serverChannel()).bind(listener.address());
    }

    /**
     * Does not accept yet. Clients may wait already, and Netty adds the handler of accepted
     * channels in a task of its own.
     */
    private static ChannelFuture take(ServerBootstrap bootstrap, ServerChannel socket) {
        return bootstrap
                .channelFactory((ChannelFactory<ServerChannel>) () -> socket)
                .option(ChannelOption.AUTO_READ, false)
                .register();
    }

    /** Returns the oldest requests of all event loops, the oldest first. */
    public CompletionStage<List<RequestSnapshot>> requests(int limit) {
        List<CompletableFuture<List<RequestSnapshot>>> parts =
                dispatches.stream().map(dispatch -> dispatch.requests(limit)).toList();
        return CompletableFuture.allOf(parts.toArray(CompletableFuture<?>[]::new))
                .thenApply(all -> parts.stream()
                        .flatMap(part -> part.join().stream())
                        .sorted(Comparator.comparingLong(RequestSnapshot::ageNanos)
                                .reversed())
                        .limit(limit)
                        .toList());
    }

    /**
     * Completes when no exchange except tunnels waits or is in flight, and the embedding program
     * has read its responses, on any event loop that still runs.
     */
    public CompletionStage<Void> quiet() {
        // Twice, because the end of an exchange can resume requests on other event loops, which
        // have waited for its response.
        return onAllLoops(LoopDispatch::quiet).thenCompose(once -> onAllLoops(LoopDispatch::quiet));
    }

    /**
     * Fails every request that is queued, and every later one.
     *
     * @return whether one was queued; fails if the embedding program has ended event loops
     */
    public CompletionStage<Boolean> failQueued() {
        return onAnyLoop(dispatch -> dispatch.failQueued(SHUTTING_DOWN));
    }

    /**
     * Fails every request that has not ended, every response that the embedding program has not
     * read, and every later request.
     *
     * @return whether a request failed, except tunnels; fails if the embedding program has ended
     *     event loops
     */
    public CompletionStage<Boolean> failAll() {
        return onAnyLoop(dispatch -> dispatch.failAll(SHUTTING_DOWN));
    }

    private CompletionStage<Boolean> onAnyLoop(Function<LoopDispatch, CompletableFuture<Boolean>> action) {
        List<CompletableFuture<Boolean>> parts = dispatches.stream().map(action).toList();
        return CompletableFuture.allOf(parts.toArray(CompletableFuture<?>[]::new))
                .thenApply(all -> parts.stream().anyMatch(CompletableFuture::join));
    }

    /**
     * Closes the remaining connections, then fails the remaining exchanges
     * and unread responses of the embedding program, then ends the event
     * loops that this engine created. The order matters: a closing connection may have to notify an
     * exchange on another event loop, and an exchange its caller.
     */
    public Future<?> shutdown(Duration timeout) {
        Promise<Void> done = GlobalEventExecutor.INSTANCE.newPromise();
        accepted.closeAll().thenCompose(closed -> failAll()).whenComplete((failed, error) -> {
            if (ownsGroup) {
                group.shutdownGracefully(0, timeout.toMillis(), TimeUnit.MILLISECONDS)
                        .addListener(ended -> done.trySuccess(null));
            } else {
                done.trySuccess(null);
            }
        });
        return done;
    }

    private CompletableFuture<Void> onAllLoops(Function<LoopDispatch, CompletableFuture<Void>> action) {
        return CompletableFuture.allOf(dispatches.stream().map(action).toArray(CompletableFuture<?>[]::new));
    }

    /** Handler of a listening channel: registers the channels that it accepts. */
    private final class Accepting extends ChannelInboundHandlerAdapter {
        private final Predicate<Channel> admission;

        Accepting(Predicate<Channel> admission) {
            this.admission = admission;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            Channel channel = (Channel) message;
            if (!admission.test(channel)) {
                // It has no event loop yet.
                channel.unsafe().closeForcibly();
                return;
            }
            channel.pipeline().addLast(accepted);
            ctx.fireChannelRead(message);
        }
    }
}
