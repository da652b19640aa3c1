package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random clients of random pools in virtual time. Some clients begin uploads and take responses at
 * random rates, with as many requests as they like. Others behave well: they send short requests,
 * are fast, keep idle streams open, or are slow within their share.
 */
class SharesPropertyTest {
    private static final int RUNS = Integer.getInteger("shares.runs", 60);
    private static final int TICK_MILLIS = 10;
    private static final int LIFE_MILLIS = 20_000;
    private static final int WINDOW = 256 * 1024;
    private static final int[] POOLS = {1, 1, 2, 2, 3, 4, 5, 8, 16, 100};
    private static final int[] RATES = {0, 26, 260, 2_600, 26_000, 260_000, 1_000_000};
    private static final int[] SIZES = {200_000, 2_000_000, 20_000_000};

    private enum Kind {
        /** A short request and a short response. */
        PING,
        DOWNLOAD,
        UPLOAD,
        /** Server-sent events. */
        EVENTS,
        /** A gRPC call that is answered and stays open. */
        CALL,
        TUNNEL
    }

    @Test
    void should_serve_others_and_cut_off_no_stream_within_the_share() {
        int served = 0;
        int cut = 0;
        for (int seed = 0; seed < RUNS; seed++) {
            World world = new World(seed);
            try {
                world.beginWell();
                world.attack(1 + world.random.nextInt(2));
                world.live();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + world + ": " + e.getMessage(), e);
            } finally {
                world.end();
            }
            served += world.served;
            cut += world.cut;
        }
        assertThat(served).as("short requests").isGreaterThan(20 * RUNS);
        assertThat(cut).as("streams that were taken back").isGreaterThan(RUNS);
    }

    @Test
    void should_cut_off_nobody_while_nobody_else_waits() {
        for (int seed = 0; seed < RUNS; seed++) {
            World world = new World(seed);
            world.attack(1);
            world.live();
            world.end();
            assertThat(world.cut).as("seed %s: %s", seed, world).isZero();
        }
    }

    private static final class World extends OnTwoLoops {
        final Random random;
        final int queueTimeoutMillis;
        final FunctionPool pool;
        final List<Stream> streams = new ArrayList<>();
        final List<Call> wellBehaved = new ArrayList<>();
        final List<Call> attacks = new ArrayList<>();
        final StringBuilder story = new StringBuilder();
        boolean polite;
        int now;
        int served;
        int cut;

        World(int seed) {
            freeze();
            random = new Random(seed);
            queueTimeoutMillis = 1000 * (1 + random.nextInt(10));
            pool = new FunctionPool(
                    FunctionOptions.builder("f")
                            .queue(1000, Duration.ofMillis(queueTimeoutMillis))
                            .build(),
                    eventLoops(),
                    DispatcherObserver.NONE);
            PooledConnection[] workers = {new PooledConnection("a"), new PooledConnection("b")};
            for (int i = 0; i < 2; i++) {
                pool.shard(i).workers().onMember(workers[i]);
                pool.shard(i).workers().setOpen(workers[i], true);
            }
            int size = any(POOLS);
            for (int i = 0; i < size; i++) {
                int loop = random.nextInt(2);
                streams.add(new Stream(this, pool.shard(loop), workers[loop]));
            }
            turn();
            story.append(size).append(" streams, queue timeout ").append(queueTimeoutMillis);
        }

        int any(int[] values) {
            return values[random.nextInt(values.length)];
        }

        PoolShard anyShard() {
            return pool.shard(random.nextInt(2));
        }

        /**
         * Begins what behaves well. It leaves a stream for short requests, and the shares of two
         * attackers.
         */
        void beginWell() {
            polite = true;
            int share = streams.size() / 3;
            int left = streams.size() - 2 * share - 1;
            int slow = random.nextInt(Math.min(share, left) + 1);
            for (int i = 0; i < slow; i++) {
                wellBehaved.add(
                        new Call(this, "slow", random.nextBoolean() ? Kind.DOWNLOAD : Kind.UPLOAD, any(RATES), false));
            }
            int idle = random.nextInt(left - slow + 1);
            for (int i = 0; i < idle; i++) {
                Kind kind = List.of(Kind.EVENTS, Kind.CALL, Kind.TUNNEL).get(random.nextInt(3));
                wellBehaved.add(new Call(this, "idle" + i, kind, Integer.MAX_VALUE, false));
            }
            wellBehaved.forEach(call -> {
                call.size = Integer.MAX_VALUE;
                call.open();
                turn();
                streams.forEach(Stream::tick);
                turn();
            });
            story.append(", ").append(slow).append(" slow, ").append(idle).append(" idle");
        }

        void attack(int clients) {
            for (int client = 0; client < clients; client++) {
                Kind kind = random.nextBoolean() ? Kind.DOWNLOAD : Kind.UPLOAD;
                int rate = any(RATES);
                int size = any(SIZES);
                int requests = 1 + random.nextInt(streams.size() + 20);
                boolean fills = random.nextBoolean();
                for (int i = 0; i < requests; i++) {
                    Call call = new Call(this, "attacker" + client, kind, rate, fills);
                    call.size = size;
                    attacks.add(call);
                }
                story.append("; attacker: ")
                        .append(requests)
                        .append(' ')
                        .append(kind)
                        .append(" of ")
                        .append(size);
                story.append(" at ").append(rate).append(fills ? " B/s, fills windows" : " B/s");
            }
        }

        void live() {
            List<Call> short_ = new ArrayList<>();
            Call fast = new Call(this, "fast", Kind.DOWNLOAD, Integer.MAX_VALUE, false);
            int next = random.nextInt(1000);
            for (now = TICK_MILLIS; now < LIFE_MILLIS; now += TICK_MILLIS) {
                attacks.forEach(Call::renew);
                if (polite && now >= next) {
                    next = now + 50 + random.nextInt(1000);
                    short_.add(new Call(this, "polite", Kind.PING, Integer.MAX_VALUE, false).open());
                }
                if (polite) {
                    fast.renew();
                    assertThat(fast.failure).as("fast at %s ms", now).isNull();
                }
                turn();
                attacks.forEach(Call::tick);
                wellBehaved.forEach(Call::tick);
                short_.forEach(Call::tick);
                fast.tick();
                turn();
                streams.forEach(Stream::tick);
                pass(TICK_MILLIS);
                for (Call call : wellBehaved) {
                    assertThat(call.failure).as("%s at %s ms", call.kind, now).isNull();
                }
                for (Call call : short_) {
                    assertThat(call.failure).as("short request at %s ms", now).isNull();
                    served += call.ended ? 1 : 0;
                }
                short_.removeIf(call -> call.ended);
            }
        }

        void end() {
            pool.shards().forEach(shard -> shard.failAll(new Failure(Failure.Kind.SHUTTING_DOWN, "the end")));
            turn();
        }

        @Override
        public String toString() {
            return story.toString();
        }
    }

    /** A worker stream, with the function that it reaches. */
    private static final class Stream extends ScriptedStream {
        private final World world;
        private Kind kind = Kind.PING;
        private int left;
        private int untaken;
        private boolean answered;
        private boolean requestEnded;
        private int sinceMillis;
        private int nextMillis;

        Stream(World world, PoolShard shard, PooledConnection worker) {
            super(shard, worker, any -> {});
            this.world = world;
            shard.workers().onStreamOpened(worker, this);
        }

        @Override
        public RequestSink carry(Http2Headers requestHead, boolean end, int timeoutMillis, Attempt forAttempt) {
            String[] path = String.valueOf(requestHead.path()).split("/");
            kind = Kind.valueOf(path[1]);
            left = Integer.parseInt(path[2]);
            untaken = 0;
            answered = false;
            requestEnded = end;
            sinceMillis = world.now;
            return super.carry(requestHead, end, timeoutMillis, forAttempt);
        }

        void tick() {
            Attempt current = attempt;
            if (current == null) {
                return;
            }
            boolean begins = !answered && (kind != Kind.PING && kind != Kind.UPLOAD || requestEnded);
            if (begins && world.now - sinceMillis >= 10) {
                answered = true;
                boolean end = kind == Kind.PING || kind == Kind.UPLOAD;
                if (end) {
                    answer();
                    return;
                }
                current.onHead(new DefaultHttp2Headers().status("200"), false);
            }
            if (answered && kind == Kind.DOWNLOAD) {
                while (attempt == current && untaken < WINDOW) {
                    send(current, Math.min(left, WINDOW / 4));
                }
            } else if (answered && kind == Kind.EVENTS && world.now >= nextMillis) {
                nextMillis = world.now + 50 + world.random.nextInt(500);
                send(current, 200);
            }
        }

        private void send(Attempt current, int bytes) {
            left -= bytes;
            untaken += bytes;
            boolean end = left == 0;
            if (end) {
                attempt = null;
            }
            current.onData(Unpooled.buffer(bytes).writeZero(bytes), end);
            if (end) {
                worker.onExchangeEnd(false);
                shard.workers().onStreamFree(worker, this);
            }
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            int bytes = data.readableBytes();
            data.release();
            requestEnded |= end;
            Attempt current = attempt;
            shard.loop().execute(() -> {
                if (current != null && attempt == current) {
                    current.onRequestTaken(bytes);
                }
            });
        }

        @Override
        public void responseTaken(int bytes) {
            untaken -= bytes;
        }

        @Override
        public void cancel(ErrorCode code) {
            if (attempt != null) {
                attempt = null;
                shard.loop().execute(() -> {
                    worker.onExchangeEnd(false);
                    shard.workers().onStreamFree(worker, this);
                });
            }
        }
    }

    /** A request of some client, and what the client does after its headers. */
    private static final class Call extends SilentClient {
        private static final int TRICKLE_MILLIS = 500;

        private final World world;
        private final String client;
        private final Kind kind;
        private final int rate;
        private final boolean fillsWindow;
        private int size = 200_000;
        private @Nullable Exchange exchange;
        private boolean ended;
        private Failure.@Nullable Kind failure;
        private int untaken;
        private int unsent;
        private int againMillis;

        Call(World world, String client, Kind kind, int rate, boolean fillsWindow) {
            this.world = world;
            this.client = client;
            this.kind = kind;
            this.rate = rate;
            this.fillsWindow = fillsWindow;
        }

        /** Opens the request, or opens it again after its end. */
        void renew() {
            if (exchange == null || ended && world.now >= againMillis) {
                open();
            }
        }

        Call open() {
            ended = false;
            failure = null;
            untaken = 0;
            unsent = 0;
            againMillis = Integer.MAX_VALUE;
            Http2Headers head = new DefaultHttp2Headers()
                    .method(kind == Kind.TUNNEL ? "CONNECT" : kind == Kind.UPLOAD ? "PUT" : "POST")
                    .scheme("http")
                    .authority("a")
                    .path("/" + kind + "/" + size);
            if (kind == Kind.CALL) {
                head.add("content-type", "application/grpc");
            }
            boolean end = kind == Kind.PING || kind == Kind.DOWNLOAD || kind == Kind.EVENTS;
            exchange = world.anyShard().open(head, end, this);
            if (kind == Kind.UPLOAD && fillsWindow) {
                send(Math.min(size - 1, WINDOW));
            }
            return this;
        }

        void tick() {
            if (exchange == null || ended) {
                return;
            }
            if (rate == Integer.MAX_VALUE) {
                take(untaken);
            } else if (world.now % TRICKLE_MILLIS == 0) {
                take(Math.min(untaken, rate / (1000 / TRICKLE_MILLIS)));
                if (kind == Kind.UPLOAD) {
                    send(Math.min(rate / (1000 / TRICKLE_MILLIS), WINDOW - unsent));
                }
            }
        }

        private void take(int bytes) {
            if (bytes > 0 && exchange != null) {
                untaken -= bytes;
                exchange.responseTaken(bytes);
            }
        }

        private void send(int bytes) {
            if (bytes > 0 && exchange != null && !ended) {
                unsent += bytes;
                exchange.data(Unpooled.buffer(bytes).writeZero(bytes), false);
            }
        }

        private void onEnd() {
            ended = true;
            againMillis = world.now + world.random.nextInt(200);
        }

        @Override
        public Requester requester() {
            return Requester.named(client);
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            if (end) {
                onEnd();
            }
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            untaken += data.readableBytes();
            super.onData(data, end);
            if (end) {
                onEnd();
            }
        }

        @Override
        public void onRequestTaken(int bytes) {
            unsent -= bytes;
        }

        @Override
        public void onFailure(Failure reason) {
            failure = reason.kind();
            world.cut += failure == Failure.Kind.OVERLOADED ? 1 : 0;
            onEnd();
        }
    }
}
