package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.Dispatcher.CapacitySnapshot;
import io.lambdadispatcher.core.Dispatcher.PoolSnapshot;
import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.internal.direct.DirectFunction;
import io.lambdadispatcher.core.internal.direct.DirectShard;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor;
import io.lambdadispatcher.core.internal.launch.WorkerRegistry;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Event loops, pools and whoever starts workers: what a dispatcher is without its ports. Any thread. */
public final class Engine implements WorkerRegistry.Listener {
    /** Large enough that one flush takes a burst of large bodies to the socket, small enough to bound what waits there. */
    private static final WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(256 * 1024, 512 * 1024);

    private final Transport transport;
    private final EventLoopGroup loops;
    private final boolean ownsLoops;
    private final AcceptedChannels accepted = new AcceptedChannels();
    private final List<EventLoop> loopList = new ArrayList<>();
    private final Map<EventLoop, Integer> loopIndexes = new IdentityHashMap<>();
    private final Map<String, FunctionPool> pools = new LinkedHashMap<>();
    private final List<LoopDispatch> openers = new ArrayList<>();
    private final WorkerRegistry registry = new WorkerRegistry(this);
    private final Map<String, LaunchSupervisor> supervisors = new LinkedHashMap<>();

    /** @param given event loops of the embedding program, all of them used and none shut down; {@code null} = {@code eventLoops} of our own */
    public Engine(
            Transport transport,
            @Nullable EventLoopGroup given,
            int eventLoops,
            List<FunctionOptions> functions,
            Map<String, DirectFunction> direct,
            RequestRouter router,
            DispatcherObserver observer) {
        this.transport = transport;
        ownsLoops = given == null;
        loops = given != null
                ? given
                : new MultiThreadIoEventLoopGroup(
                        eventLoops, new DefaultThreadFactory("dispatcher"), transport.ioHandler());
        for (EventExecutor executor : loops) {
            EventLoop loop = (EventLoop) executor;
            loopIndexes.put(loop, loopList.size());
            loopList.add(loop);
        }
        for (FunctionOptions function : functions) {
            pools.put(function.name(), new FunctionPool(function, loopList, observer));
        }
        for (int i = 0; i < loopList.size(); i++) {
            List<ExchangeOwner> owners = new ArrayList<>();
            openers.add(new LoopDispatch(router, openersOf(i, direct, observer, owners), owners, observer));
        }
    }

    /** @param owners is given those that the exchanges will belong to */
    private Map<String, ExchangeOpener> openersOf(
            int loopIndex,
            Map<String, DirectFunction> direct,
            DispatcherObserver observer,
            List<ExchangeOwner> owners) {
        Map<String, ExchangeOpener> all = new HashMap<>();
        pools.forEach(
                (name, pool) -> all.put(name, openerOf(pool.shard(loopIndex), direct.get(name), observer, owners)));
        return all;
    }

    private static ExchangeOpener openerOf(
            PoolShard shard,
            @Nullable DirectFunction function,
            DispatcherObserver observer,
            List<ExchangeOwner> owners) {
        owners.add(shard);
        if (function == null) {
            return shard::open;
        }
        DirectShard direct = new DirectShard(shard.pool().options(), function, shard.loop(), observer);
        owners.add(direct);
        Duration overflowAfter = function.options().overflowAfter();
        if (overflowAfter == null) {
            return direct;
        }
        shard.overflow(overflowAfter, direct::newCall);
        return shard::open;
    }

    public Map<String, FunctionPool> functionPools() {
        return pools;
    }

    public Map<EventLoop, Integer> loopIndexes() {
        return loopIndexes;
    }

    public WorkerRegistry registry() {
        return registry;
    }

    /** The event loop of the calling thread if it is one of ours, else the next in turn. */
    public EventLoop anyLoop() {
        for (EventLoop loop : loopIndexes.keySet()) {
            if (loop.inEventLoop()) {
                return loop;
            }
        }
        return loops.next();
    }

    /** @throws IllegalStateException if the event loop is not one of ours */
    public ExchangeOpener opener(EventLoop loop) {
        Integer index = loopIndexes.get(loop);
        if (index == null) {
            throw new IllegalStateException("event loop " + loop + " is not one of this dispatcher's");
        }
        return openers.get(index);
    }

    /**
     * Opens a port.
     *
     * @throws UncheckedIOException if that fails
     */
    public Channel listen(ListenerOptions listener, ChannelHandler child) {
        ChannelFuture bound = new ServerBootstrap()
                .group(loops)
                .channel(transport.serverChannel())
                .option(ChannelOption.SO_BACKLOG, 4096)
                .option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.SO_KEEPALIVE, true)
                .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
                .handler(new Accepting())
                .childHandler(child)
                .bind(listener.address())
                .awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw new UncheckedIOException(new IOException(
                    "cannot listen on " + listener.address().getHostString() + ":"
                            + listener.address().getPort() + ": "
                            + bound.cause().getMessage(),
                    bound.cause()));
        }
        return bound.channel();
    }

    public void startLaunching(
            Map<String, WorkerLauncher> launchers,
            byte[] secret,
            List<InetSocketAddress> dialBack,
            boolean tls,
            DispatcherObserver observer) {
        for (FunctionPool pool : pools.values()) {
            WorkerLauncher launcher = launchers.get(pool.options().name());
            if (launcher == null || pool.options().capacity().maxWorkers() == 0) {
                continue;
            }
            LaunchSupervisor supervisor =
                    new LaunchSupervisor(pool, launcher, registry, loops.next(), secret, dialBack, tls, observer);
            supervisors.put(pool.options().name(), supervisor);
        }
        supervisors.values().forEach(LaunchSupervisor::start);
    }

    public void stopLaunching() {
        supervisors.values().forEach(LaunchSupervisor::close);
    }

    /** Every function with launched workers has as many as it should. */
    public boolean hasItsWorkers() {
        return supervisors.values().stream().allMatch(LaunchSupervisor::isSatisfied);
    }

    public List<PoolSnapshot> snapshot() {
        List<PoolSnapshot> all = new ArrayList<>();
        for (FunctionPool pool : pools.values()) {
            WorkerRegistry.Count count = registry.count(pool.options().name());
            all.add(new PoolSnapshot(
                    pool.options().name(),
                    count.workers(),
                    count.ready(),
                    pool.streams(),
                    pool.free(),
                    pool.pending()));
        }
        return all;
    }

    /** Completes when no exchange waits or is under way, but for tunnels, on any event loop that still runs. */
    public CompletionStage<Void> quiet() {
        CompletableFuture<?>[] loopsQuiet = new CompletableFuture<?>[loopList.size()];
        for (int i = 0; i < loopsQuiet.length; i++) {
            LoopDispatch opener = openers.get(i);
            EventLoop loop = loopList.get(i);
            CompletableFuture<Void> quiet = new CompletableFuture<>();
            loopsQuiet[i] = quiet;
            try {
                loopList.get(i).execute(() -> opener.awaitQuiet(loop, quiet));
            } catch (RejectedExecutionException e) {
                // The embedding program has ended its event loop.
                quiet.complete(null);
            }
        }
        return CompletableFuture.allOf(loopsQuiet);
    }

    /**
     * Closes every connection that is left, fails what is left of exchanges, and ends our own event loops. In that order, for a connection that closes
     * may still have to tell an exchange on another event loop, and that exchange whoever waits for it.
     */
    public Future<?> shutdown(Duration timeout) {
        Promise<Void> done = GlobalEventExecutor.INSTANCE.newPromise();
        accepted.closeAll().thenCompose(closed -> failRest()).whenComplete((failed, error) -> {
            if (ownsLoops) {
                loops.shutdownGracefully(0, timeout.toMillis(), TimeUnit.MILLISECONDS)
                        .addListener(ended -> done.trySuccess(null));
            } else {
                done.trySuccess(null);
            }
        });
        return done;
    }

    /** On every event loop, behind all that has been handed over to it. */
    private CompletableFuture<Void> failRest() {
        Failure failure = new Failure(Failure.Kind.SHUTTING_DOWN, "the dispatcher shuts down");
        CompletableFuture<?>[] loopsDone = new CompletableFuture<?>[loopList.size()];
        for (int i = 0; i < loopsDone.length; i++) {
            LoopDispatch opener = openers.get(i);
            try {
                loopsDone[i] = CompletableFuture.runAsync(() -> opener.close(failure), loopList.get(i));
            } catch (RejectedExecutionException e) {
                // The embedding program has ended its event loop.
                loopsDone[i] = CompletableFuture.failedFuture(e);
            }
        }
        return CompletableFuture.allOf(loopsDone);
    }

    /** On a listening channel: keeps what it accepts. */
    private final class Accepting extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ((Channel) message).pipeline().addLast(accepted);
            ctx.fireChannelRead(message);
        }
    }

    @Override
    public void onWorkerReady(String function, String workerId, @Nullable Instant deadline) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor != null) {
            supervisor.onWorkerReady(workerId, deadline);
        }
    }

    @Override
    public void onWorkerDraining(String function, String workerId) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor != null) {
            supervisor.onWorkerDraining(workerId);
        }
    }

    @Override
    public void onWorkerGone(String function, String workerId, boolean clean) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor != null) {
            supervisor.onWorkerGone(workerId, clean);
        }
    }

    @Override
    public void onWorkerDialled(String function, String workerId) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor != null) {
            supervisor.onWorkerDialled(workerId);
        }
    }

    @Override
    public void onWorkerLoad(String function, String workerId, ControlMessage.Load load) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor != null) {
            supervisor.onWorkerLoad(workerId, load);
        }
    }

    /** @throws IllegalArgumentException if the function is not launched by us */
    public void setLaunching(String function, boolean value) {
        LaunchSupervisor supervisor = supervisors.get(function);
        if (supervisor == null) {
            throw new IllegalArgumentException(
                    "function: " + function + ", expected one of those launched here: " + supervisors.keySet());
        }
        supervisor.setLaunching(value);
    }

    /** Of functions that are launched here. */
    public List<CapacitySnapshot> capacity() {
        List<CapacitySnapshot> all = new ArrayList<>();
        supervisors.forEach((name, supervisor) -> {
            CapacityController.Status now = supervisor.status();
            all.add(new CapacitySnapshot(
                    name,
                    now.wanted(),
                    now.launched(),
                    now.ready(),
                    now.draining(),
                    now.ejected(),
                    now.launchesInLastMinute(),
                    now.lastHourGbSeconds(),
                    now.totalGbSeconds(),
                    now.obstacle()));
        });
        return all;
    }
}
