package io.lambdadispatcher.bench.load;

import io.lambdadispatcher.bench.load.LoadConnection.Call;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Generates the load of one order, in the states CONNECTING → LOADING → FINISHING → ENDED. In
 * FINISHING, no further requests become due: late requests are sent, and requests in flight are
 * awaited. A lost connection is replaced, and its requests in flight count as failed. Confined to
 * the event loop, except {@link #start}.
 */
final class LoadRun implements LoadConnection.Listener {
    /**
     * The shortest interval between checks for due requests. The delay is part of the latency of a
     * request, but it is small compared with the measured times.
     */
    private static final long TICK_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    private static final long LONGEST_TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long REDIAL_MILLIS = 100;

    private enum State {
        CONNECTING,
        LOADING,
        FINISHING,
        ENDED
    }

    private final LoadOrder order;
    private final EventLoop loop;
    private final Consumer<String> reports;
    private final Timetable timetable;
    private final LoadTally window = new LoadTally();
    private final LoadTally all = new LoadTally();
    private final List<LoadConnection> connections = new ArrayList<>();
    private final CompletableFuture<String> done = new CompletableFuture<>();
    private State state = State.CONNECTING;
    private long startNanos;
    private long recordNanos;
    private long endNanos;
    private long windowStartNanos;
    private long next;
    private int turn;

    /** @param reports receives a line of JSON for each window */
    LoadRun(LoadOrder order, EventLoop loop, Consumer<String> reports) {
        this.order = order;
        this.loop = loop;
        this.reports = reports;
        this.timetable = new Timetable(
                order.rate(), order.kinds().stream().map(RequestKind::weight).toList());
    }

    /** Starts the run once, on any thread. @return the report of all windows, or the failure */
    CompletableFuture<String> start() {
        loop.execute(() -> {
            for (int i = 0; i < order.connections(); i++) {
                dial();
            }
        });
        return done;
    }

    private void dial() {
        LoadConnection connection = new LoadConnection(order.streams(), this);
        new Bootstrap()
                .group(loop)
                .channel(Epoll.isAvailable() ? EpollSocketChannel.class : NioSocketChannel.class)
                .option(ChannelOption.TCP_NODELAY, true)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        connection.addTo(channel);
                    }
                })
                .connect(new InetSocketAddress("127.0.0.1", order.port()))
                .addListener(connected -> {
                    if (connected.isSuccess()) {
                        connection.watch();
                    } else {
                        onLost(connected.cause());
                    }
                });
    }

    private void onLost(Throwable cause) {
        if (state == State.LOADING) {
            loop.schedule(this::dial, REDIAL_MILLIS, TimeUnit.MILLISECONDS);
        } else if (state == State.CONNECTING) {
            state = State.ENDED;
            done.completeExceptionally(cause);
        }
    }

    @Override
    public void onReady(LoadConnection connection) {
        if (connections.contains(connection)) {
            return; // The server has changed its settings.
        }
        connections.add(connection);
        if (state == State.CONNECTING && connections.size() == order.connections()) {
            state = State.LOADING;
            startNanos = System.nanoTime();
            recordNanos = startNanos + order.warmNanos();
            windowStartNanos = recordNanos;
            endNanos = recordNanos + order.lengthNanos();
            tick();
        }
    }

    private void tick() {
        long now = System.nanoTime();
        switch (state) {
            case LOADING -> {
                send(now);
                reportWindow(now);
                if (now >= endNanos) {
                    state = State.FINISHING;
                }
                tickAgain(now);
            }
            case FINISHING -> {
                send(now);
                if ((underWay() == 0 && !isDue(now)) || now - endNanos > PATIENCE_NANOS) {
                    finish(now);
                } else {
                    tickAgain(now);
                }
            }
            default -> {}
        }
    }

    /**
     * Sleeps until the next request is due, at most a millisecond. Time that the generator spends
     * on its own is missing for the worker, which shares its core.
     */
    private void tickAgain(long now) {
        long wait = order.rate() == 0 ? 0 : startNanos + timetable.due(next) - now;
        loop.schedule(this::tick, Math.max(TICK_NANOS, Math.min(LONGEST_TICK_NANOS, wait)), TimeUnit.NANOSECONDS);
    }

    /** Returns whether a request is due. Without a rate, one is always due until the end. */
    private boolean isDue(long now) {
        return order.rate() == 0 ? now < endNanos : startNanos + timetable.due(next) <= Math.min(now, endNanos - 1);
    }

    private void send(long now) {
        while (isDue(now)) {
            LoadConnection connection = withRoom();
            if (connection == null) {
                break;
            }
            RequestKind kind = order.kinds().get(timetable.kind(next));
            long intended = order.rate() == 0 ? now : startNanos + timetable.due(next);
            connection.send(new Call(kind, next, intended, now));
            next++;
        }
        connections.forEach(LoadConnection::flush);
    }

    private @Nullable LoadConnection withRoom() {
        for (int i = 0; i < connections.size(); i++) {
            turn = (turn + 1) % connections.size();
            if (connections.get(turn).hasRoom()) {
                return connections.get(turn);
            }
        }
        return null;
    }

    private int underWay() {
        return connections.stream().mapToInt(LoadConnection::underWay).sum();
    }

    @Override
    public void onEnded(Call call, boolean good) {
        if (state == State.ENDED || call.intendedNanos < recordNanos) {
            return;
        }
        if (good) {
            long now = System.nanoTime();
            window.answered(call.intendedNanos, call.startedNanos, now);
            all.answered(call.intendedNanos, call.startedNanos, now);
        } else {
            window.failed();
            all.failed();
        }
    }

    @Override
    public void onClosed(LoadConnection connection) {
        connections.remove(connection);
        onLost(new IllegalStateException("the server closed a connection before the load began"));
    }

    private void reportWindow(long now) {
        if (order.windowNanos() > 0 && now - windowStartNanos >= order.windowNanos()) {
            windowStartNanos += order.windowNanos();
            reports.accept(
                    window.report("window", seconds(windowStartNanos - recordNanos), seconds(order.windowNanos())));
            window.clear();
        }
    }

    /**
     * Ends the run. Requests that are due but not sent, and those without a response, have failed.
     */
    private void finish(long now) {
        for (; isDue(now); next++) {
            all.failed();
        }
        for (int missing = underWay(); missing > 0; missing--) {
            all.failed();
        }
        state = State.ENDED;
        List.copyOf(connections).forEach(LoadConnection::close);
        done.complete(all.report("end", seconds(endNanos - recordNanos), seconds(endNanos - recordNanos)));
    }

    private static double seconds(long nanos) {
        return nanos / 1e9;
    }
}
