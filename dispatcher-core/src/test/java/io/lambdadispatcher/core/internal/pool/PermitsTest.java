package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random operations on a pool of three event loops. Workers connect, disconnect, are limited and
 * ejected, and gain and lose streams. Requests of several clients arrive, cross over, are answered,
 * refused or cancelled, with and without bodies that end later. With even seeds, requests of a user
 * prefer one worker, or wait for one, which may have no room. The first two are base workers.
 * Whenever all loops are idle, the permits of each shard must equal what its workers can take, its
 * base permits what base workers can take below their target, and no request may wait while there
 * is a permit.
 */
class PermitsTest {
    private static final int LOOPS = 3;
    private static final int STEPS = 4000;
    private static final double TARGET = 0.8;
    private static final Failure GONE = new Failure(Failure.Kind.WORKER_LOST, "gone");

    private final List<EmbeddedChannel> loops = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final List<Exchange> exchanges = new ArrayList<>();
    private final ResponseSink[] clients = {named("a"), named("b"), named("c"), new SilentClient()};
    /** The first names no worker, and the last one that never connects. */
    private final String[] users = {"a", tagged("w0"), tagged("w1"), tagged("w2"), tagged("gone")};

    private FunctionPool pool;
    private Random random;
    private int carried;

    /** A worker connection. */
    private final class Link {
        final PoolShard shard;
        final EmbeddedChannel loop;
        final PooledConnection member;
        final List<Stream> streams = new ArrayList<>();

        Link(int loopIndex, String workerId) {
            shard = pool.shard(loopIndex);
            loop = loops.get(loopIndex);
            member = new PooledConnection(workerId);
            member.setKind(workerId.compareTo("w2") < 0 ? WorkerKind.BASE : WorkerKind.LAUNCHED);
            shard.workers().onMember(member);
        }

        void open() {
            Stream stream = new Stream(this);
            streams.add(stream);
            shard.workers().onStreamOpened(member, stream);
        }

        void go() {
            shard.workers().onMemberGone(member);
            List.copyOf(streams).forEach(Stream::close);
        }

        int couldTake() {
            long free = streams.stream().filter(stream -> !stream.busy).count();
            long busy = streams.size() - free;
            return member.open ? (int) Math.max(0, Math.min(free, member.limit - busy)) : 0;
        }

        int couldTakeFirst() {
            long busy = streams.stream().filter(stream -> stream.busy).count();
            long target = Math.max(1, Math.round(Math.min(streams.size(), member.limit) * TARGET));
            return member.isBase() ? (int) Math.max(0, Math.min(couldTake(), target - busy)) : 0;
        }
    }

    private final class Stream extends DiscardingSink implements Carrier {
        final Link link;
        boolean busy;

        @Nullable
        Attempt attempt;

        Stream(Link link) {
            this.link = link;
        }

        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
            assertThat(busy).isFalse();
            assertThat(link.streams).contains(this);
            carried++;
            busy = true;
            attempt = forAttempt;
            return this;
        }

        void end(boolean refuse) {
            Attempt current = attempt;
            attempt = null;
            if (current != null && refuse) {
                current.onRefused(GONE);
            } else if (current != null) {
                current.onHead(new DefaultHttp2Headers().status("200"), true);
            }
            busy = false;
            link.shard.workers().onStreamFree(link.member, this);
        }

        void close() {
            Attempt current = attempt;
            attempt = null;
            link.streams.remove(this);
            link.shard.workers().onStreamClosed(link.member, this, !busy);
            if (current != null) {
                current.onLost(GONE);
            }
        }

        /** Keeps the stream busy until the worker has answered. */
        @Override
        public void cancel(ErrorCode code) {
            attempt = null;
        }

        @Override
        public String workerId() {
            return link.member.workerId();
        }
    }

    private void step() {
        int what = random.nextInt(100);
        if (links.isEmpty() || what < 3 && links.size() < 12) {
            Link link = new Link(random.nextInt(LOOPS), "w" + random.nextInt(6));
            links.add(link);
        } else if (what < 5) {
            links.remove(random.nextInt(links.size())).go();
        } else if (what < 15) {
            Link link = any();
            link.shard.workers().setOpen(link.member, random.nextInt(4) > 0);
        } else if (what < 25) {
            Link link = any();
            if (link.streams.size() < 6) {
                link.open();
            }
        } else if (what < 30) {
            Link link = any();
            if (!link.streams.isEmpty()) {
                link.streams.get(random.nextInt(link.streams.size())).close();
            }
        } else if (what < 38) {
            pool.limit("w" + random.nextInt(6), random.nextInt(7));
        } else if (what < 65) {
            boolean whole = random.nextInt(3) > 0;
            exchanges.add(
                    pool.shard(random.nextInt(LOOPS)).open(head(), whole, clients[random.nextInt(clients.length)]));
        } else if (what < 72 && !exchanges.isEmpty()) {
            // Complete and ended requests ignore this call.
            exchanges.get(random.nextInt(exchanges.size())).data(Unpooled.EMPTY_BUFFER, true);
        } else if (what < 90) {
            Link link = any();
            link.streams.stream().filter(stream -> stream.busy).findAny().ifPresent(stream -> stream.end(what < 76));
        } else if (what < 93 && !exchanges.isEmpty()) {
            exchanges.remove(random.nextInt(exchanges.size())).cancel(ErrorCode.CANCELLED);
        } else {
            loops.get(random.nextInt(LOOPS)).runPendingTasks();
        }
    }

    private static String tagged(String workerId) {
        Http2Headers response = new DefaultHttp2Headers().set("id", "s");
        ClientSession created = ClientSession.of(Affinity.sessionHeader("id"), new DefaultHttp2Headers());
        created.mark(response, workerId);
        return response.get("id").toString();
    }

    private static ResponseSink named(String name) {
        return new SilentClient() {
            @Override
            public Requester requester() {
                return Requester.named(name);
            }
        };
    }

    private Link any() {
        return links.get(random.nextInt(links.size()));
    }

    private Http2Headers head() {
        return new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a")
                .path("/")
                .set("x-user", users[random.nextInt(users.length)]);
    }

    private static Affinity affinity(long seed) {
        if (seed % 2 == 1) {
            return Affinity.NONE;
        }
        return seed % 4 == 0 ? Affinity.header("x-user") : Affinity.sessionHeader("x-user");
    }

    private void rest() {
        for (int i = 0; i < 30; i++) {
            loops.forEach(EmbeddedChannel::runPendingTasks);
        }
    }

    private boolean isMixed() {
        return links.stream()
                        .filter(link -> link.member.open)
                        .map(link -> link.member.isBase())
                        .distinct()
                        .count()
                == 2;
    }

    private void check() {
        int waiting = 0;
        for (PoolShard shard : pool.shards()) {
            int couldTake = links.stream()
                    .filter(link -> link.shard == shard)
                    .mapToInt(Link::couldTake)
                    .sum();
            assertThat(shard.free.permits()).isEqualTo(couldTake);
            int couldTakeFirst = links.stream()
                    .filter(link -> link.shard == shard && isMixed())
                    .mapToInt(Link::couldTakeFirst)
                    .sum();
            assertThat(shard.free.basePermits()).isEqualTo(couldTakeFirst);
            waiting += shard.sample(false).pending();
        }
        assertThat(pool.pending()).isEqualTo(waiting);
        assertThat(pool.streams())
                .isEqualTo(links.stream().mapToInt(link -> link.streams.size()).sum());
        if (pool.free() > 0) {
            assertThat(waiting).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void should_have_as_many_permits_as_its_workers_can_take_whenever_it_rests(long seed) {
        random = new Random(seed);
        List<EventLoop> eventLoops = new ArrayList<>();
        for (int i = 0; i < LOOPS; i++) {
            EmbeddedChannel loop = new EmbeddedChannel();
            loop.freezeTime();
            loops.add(loop);
            eventLoops.add(loop.eventLoop());
        }
        pool = new FunctionPool(
                FunctionOptions.builder("f")
                        .streamsPerConnection(6)
                        .capacity(CapacityPolicy.builder()
                                .targetUtilization(TARGET)
                                .build())
                        .queue(20, Duration.ofHours(1))
                        .traffic(
                                TrafficPolicy.builder().affinity(affinity(seed)).build())
                        .build(),
                eventLoops,
                DispatcherObserver.NONE);
        for (int i = 0; i < STEPS; i++) {
            step();
            if (random.nextInt(5) == 0) {
                rest();
                check();
            }
        }
        rest();
        check();
        assertThat(carried).isGreaterThan(STEPS / 20);

        links.forEach(Link::go);
        exchanges.forEach(exchange -> exchange.cancel(ErrorCode.CANCELLED));
        rest();
        assertThat(pool.queued()).isZero();
        assertThat(pool.shares.size()).isZero();
    }
}
