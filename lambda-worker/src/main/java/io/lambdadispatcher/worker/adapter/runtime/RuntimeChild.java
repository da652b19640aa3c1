package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.worker.adapter.runtime.Answer.Failure;
import io.lambdadispatcher.worker.internal.child.Child;
import io.lambdadispatcher.worker.internal.child.ChildListener;
import io.lambdadispatcher.worker.internal.exchange.BodyBudget;
import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One child process with its port, its connections and the invocations that it holds.
 *
 * <pre>
 *   STARTING ──asks for an invocation──▶ SERVING
 *     ▲    │                                │
 *     │   died                             died
 *     │    ▼                                │
 *     └── GONE ◀────────────────────────────┘
 * </pre>
 *
 * The invocations of a child that has exited fail when its last connection has been read to the
 * end, because a response may still arrive there. They fail at the latest when the child is started
 * again.
 *
 * <p><b>Threading.</b> Confined to the loop of the API, except {@link #stop} and the methods that
 * {@link Child} calls.
 */
final class RuntimeChild implements ChildListener {
    private static final Duration STOP_GRACE = Duration.ofSeconds(2);
    private static final long INIT_ERROR_EXIT_MILLIS = 2_000;
    private static final int MOST_HANGING_SWEEPS = 10;

    /** As long as a web application may take until it is ready. */
    private static final long START_NANOS = TimeUnit.MINUTES.toNanos(5);

    private static final int MAX_CHUNK_BYTES = 64 * 1024;

    /** Runtime clients send X-Ray's description of an error as a header of at most 1 MB. */
    private static final int MAX_HEAD_BYTES = 1100 * 1024;

    private static final Logger log = LoggerFactory.getLogger(RuntimeChild.class);

    private enum Phase {
        STARTING,
        SERVING,
        GONE
    }

    private final RuntimePool pool;
    private final RuntimeConfig config;
    private final String name;
    private final EventLoop loop;
    private final Set<ApiConnection> connections = new HashSet<>();
    private final ArrayDeque<ApiConnection> polls = new ArrayDeque<>();
    private final Map<String, Invocation> given = new HashMap<>();

    private List<ApiConnection> dying = List.of();
    private Phase phase = Phase.GONE;
    private String end = "it has not been started";
    private long pid;
    private long startedNanos;
    private int hangingSweeps;
    private volatile @Nullable Child process;
    private volatile boolean stopped;

    RuntimeChild(RuntimePool pool, RuntimeConfig config, String name) {
        this.pool = pool;
        this.config = config;
        this.name = name;
        this.loop = pool.loop();
    }

    BodyBudget budget() {
        return pool.budget();
    }

    // Its life.

    void start(ClientTransport transport) {
        new ServerBootstrap()
                .group(loop)
                .channel(transport.serverType())
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        accept(channel);
                    }
                })
                // What children are told. With -Djava.net.preferIPv6Addresses=true, the JVM's
                // loopback address is another one.
                .bind(new InetSocketAddress(RuntimeConfig.API_HOST, 0))
                .addListener((ChannelFuture bound) -> onBound(bound));
    }

    private void onBound(ChannelFuture bound) {
        if (!bound.isSuccess()) {
            pool.onStartFailed(
                    "cannot open a port for the Runtime API: " + bound.cause().getMessage());
            return;
        }
        int port = ((InetSocketAddress) bound.channel().localAddress()).getPort();
        Child child = new Child(config.command(name, port), this);
        process = child;
        if (!stopped) {
            child.start();
        }
    }

    private void accept(Channel channel) {
        ApiConnection connection = new ApiConnection(this, config.maxBytes());
        connections.add(connection);
        HttpDecoderConfig decoding =
                new HttpDecoderConfig().setMaxHeaderSize(MAX_HEAD_BYTES).setMaxChunkSize(MAX_CHUNK_BYTES);
        channel.pipeline().addLast(new HttpServerCodec(decoding), connection);
    }

    /** @return completes when the process has ended */
    CompletionStage<Void> stop() {
        stopped = true;
        Child child = process;
        return child == null ? CompletableFuture.completedFuture(null) : child.stop(STOP_GRACE);
    }

    @Override
    public void onStarted(long newPid) {
        loop.execute(() -> {
            failGiven();
            dying.forEach(ApiConnection::close);
            dying = List.of();
            phase = Phase.STARTING;
            pid = newPid;
            startedNanos = pool.sweptNanos();
            // A fast child may have asked already.
            serveIfAsked();
        });
    }

    @Override
    public void onDied(String how) {
        loop.execute(() -> {
            phase = Phase.GONE;
            end = how;
            polls.clear();
            dying = List.copyOf(connections);
            pool.onStartFailed(
                    "the runtime '" + config.commandLine() + "' died before it asked for an invocation: " + how);
            if (connections.isEmpty()) {
                failGiven();
            }
        });
    }

    void onClosed(ApiConnection connection) {
        connections.remove(connection);
        polls.remove(connection);
        if (phase == Phase.GONE && connections.isEmpty()) {
            failGiven();
        }
    }

    private void failGiven() {
        List<Invocation> all = List.copyOf(given.values());
        given.clear();
        all.forEach(invocation -> invocation.endFailed(Failure.CHILD_FAILED, name + " died: " + end));
    }

    /** Kills the process {@code failed}, unless another process has replaced it. */
    private void kill(long failed) {
        Child child = process;
        if (child != null) {
            child.kill(failed);
        }
    }

    // What the child asks for and reports.

    void onPoll(ApiConnection connection) {
        // The child has left the streams that were stopped. Until now, it may hang in them.
        given.values().removeIf(invocation -> invocation.state == Invocation.State.ENDED);
        polls.add(connection);
        failForgotten();
        serveIfAsked();
        pool.onFree(this);
    }

    /**
     * Fails what the child has not answered although it asks for another invocation in the same
     * way, if it takes one at a time: it waits for the other, and so it never answers.
     */
    private void failForgotten() {
        if (config.concurrency() > 1 || polls.isEmpty()) {
            return;
        }
        given.values().removeIf(invocation -> {
            boolean forgotten = invocation.isForgotten(polls);
            if (forgotten) {
                invocation.endFailed(Failure.CHILD_FAILED, name + " asked for the next event without an answer");
            }
            return forgotten;
        });
    }

    /** A response broke off. The child may send it again. */
    void onAnswerBroken(Invocation invocation) {
        invocation.state = Invocation.State.GIVEN;
        failForgotten();
        pool.onFree(this);
    }

    private void serveIfAsked() {
        Child child = process;
        if (phase == Phase.STARTING && !polls.isEmpty() && child != null) {
            phase = Phase.SERVING;
            child.markHealthy();
            pool.onReady();
            pool.onFree(this);
        }
    }

    @Nullable
    Invocation find(String id) {
        return given.get(id);
    }

    /** Bytes of the response have arrived. */
    void onAlive(Invocation invocation) {
        invocation.onAlive(pool.sweptNanos());
    }

    /**
     * Ends an invocation that the child has responded to. A rejected response that ends it counts
     * too.
     */
    void onAnswered(Invocation invocation) {
        given.remove(invocation.id());
        pool.onFree(this);
    }

    /**
     * Handles the child's report that it cannot start. If the pool has started already, the child
     * is killed after 2 s, in which it can write its logs. Otherwise, the pool's start fails.
     */
    void onInitError(String type, byte[] details) {
        String text = type + " " + new String(details, StandardCharsets.UTF_8);
        String shown = PrintableText.ofFailure(text);
        if (!pool.onStartFailed("the runtime cannot start: " + shown)) {
            log.warn("{} cannot start: {}", name, shown);
            long failed = pid;
            loop.schedule(() -> kill(failed), INIT_ERROR_EXIT_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    // What the child is given.

    boolean canTake() {
        return phase == Phase.SERVING && !polls.isEmpty() && given.size() < config.concurrency();
    }

    int held() {
        return given.size();
    }

    /**
     * Sends the invocation to the child. Rejects it if the child already holds one with the same
     * id, because the API identifies invocations by id, and Lambda retries an event with its first
     * id.
     */
    void give(Invocation invocation) {
        if (given.putIfAbsent(invocation.id(), invocation) != null) {
            invocation.endFailed(Failure.REFUSED, name + " already runs the invocation " + invocation.id());
            return;
        }
        ApiConnection poll = polls.remove();
        invocation.onGiven(pool.sweptNanos());
        invocation.poll = poll;
        poll.sendInvocation(invocation).addListener(sent -> {
            if (sent.isSuccess()) {
                invocation.onDelivered();
            } else if (given.remove(invocation.id(), invocation)) {
                pool.giveBack(invocation);
            }
        });
    }

    /** Excludes the time of a freeze, because the child did not run either. */
    void onFrozen(long nanos) {
        startedNanos += nanos;
        given.values().forEach(invocation -> invocation.onFrozen(nanos));
    }

    /**
     * Reports invocations whose deadline has passed, and kills a child that hangs or does not
     * start.
     *
     * <p>A child hangs if as many invocations hang as it may hold. Lambda ends such a child too. It
     * also hangs if all invocations that it holds hang and it asks for no others, because its
     * client may take fewer than it is allowed to. The second rule must be true for 10 sweeps:
     * between a response and the next request of the client, no request is open.
     */
    void sweep(long nowNanos) {
        int hanging = 0;
        for (Invocation invocation : given.values()) {
            if (invocation.head.isOverdue(nowNanos)) {
                invocation.timeOut();
            }
            if (invocation.isHanging(nowNanos)) {
                hanging++;
            }
        }
        boolean stuck = hanging > 0 && hanging == given.size() && polls.isEmpty();
        hangingSweeps = stuck ? hangingSweeps + 1 : 0;
        if ((hanging >= config.concurrency() || hangingSweeps >= MOST_HANGING_SWEEPS) && phase == Phase.SERVING) {
            killStuck("answered before the deadline");
        } else if (phase == Phase.STARTING && nowNanos - startedNanos >= START_NANOS) {
            killStuck("asked for an invocation within 5 minutes");
        }
    }

    private void killStuck(String expected) {
        log.warn("killing {}, because it has not {}", name, expected);
        phase = Phase.GONE;
        kill(pid);
    }
}
