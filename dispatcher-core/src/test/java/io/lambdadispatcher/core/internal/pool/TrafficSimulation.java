package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A pool of one event loop with simulated workers and clients, in virtual time. Requests arrive at
 * random at a constant mean rate. A worker serves each of its streams by itself. Single-threaded.
 */
final class TrafficSimulation {
    /** What a worker does with a request. */
    interface Behaviour {
        /** @return nanoseconds until the response, or {@link #HANG} */
        long serviceNanos(Random random);

        /** Returns the status of the response; 0 = the worker refuses the request. */
        default int status() {
            return 200;
        }

        /** Returns the nanoseconds from the head of the response until its end. */
        default long lengthNanos() {
            return 0;
        }
    }

    /** The handler never answers, until the request is cancelled. */
    static final long HANG = Long.MAX_VALUE;

    private static final long CANCEL_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private record Event(long atNanos, long number, Runnable action) {}

    /** Statuses of responses, and tokens of failures, with their numbers. */
    final Map<String, Integer> outcomes = new TreeMap<>();

    final Map<ExtraAttempt, Integer> extras = new EnumMap<>(ExtraAttempt.class);

    /** How many requests have arrived in each second, and how many of those were answered. */
    final Map<Integer, Integer> arrivedIn = new TreeMap<>();

    final Map<Integer, Integer> answeredOf = new TreeMap<>();

    /** How often workers began with a request. */
    int served;

    /** How often a worker began with a request to which nobody got the response. */
    int wasted;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final PoolShard shard;
    private final Random random;
    private final List<Worker> workers = new ArrayList<>();
    private final int streams;
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atNanos).thenComparingLong(Event::number));
    private final List<Long> latencies = new ArrayList<>();
    private long nowNanos;
    private long numbered;
    private int pending;
    private int fixedStatus;

    TrafficSimulation(FunctionOptions options, int streams) {
        this(options, streams, 7);
    }

    TrafficSimulation(FunctionOptions options, int streams, long seed) {
        this.streams = streams;
        this.random = new Random(seed);
        shard = new FunctionPool(options, List.of(channel.eventLoop()), new Counting()).shard(0);
        channel.freezeTime();
    }

    private final class Counting implements DispatcherObserver {
        @Override
        public ExchangeListener onExchangeStart(ExchangeStart start) {
            return this::count;
        }

        private void count(ExchangeEnd end) {
            String outcome = end.failure() == null ? Integer.toString(end.status()) : end.failure();
            outcomes.merge(outcome, 1, Integer::sum);
            for (ExtraAttempt reason : ExtraAttempt.values()) {
                if (end.extraAttempts(reason) > 0) {
                    extras.merge(reason, end.extraAttempts(reason), Integer::sum);
                }
            }
        }
    }

    int extraAttempts() {
        return extras.values().stream().mapToInt(Integer::intValue).sum();
    }

    double quantileMillis(double quantile) {
        long[] sorted = latencies.stream().mapToLong(Long::longValue).sorted().toArray();
        return sorted[(int) Math.ceil(quantile * sorted.length) - 1] / 1e6;
    }

    /** Returns how many responses began later than this. */
    long slowerThan(double seconds) {
        return latencies.stream().filter(nanos -> nanos > seconds * 1e9).count();
    }

    Worker worker(int index) {
        return workers.get(index);
    }

    Worker addWorker(Behaviour behaviour) {
        Worker worker = new Worker("worker-" + workers.size(), behaviour);
        workers.add(worker);
        return worker;
    }

    void at(double seconds, Runnable action) {
        events.add(new Event((long) (seconds * 1e9), numbered++, action));
    }

    Random random() {
        return random;
    }

    double seconds() {
        return nowNanos / 1e9;
    }

    List<Worker> workers() {
        return workers;
    }

    private void after(long nanos, Runnable action) {
        events.add(new Event(nowNanos + nanos, numbered++, action));
    }

    /** Runs requests at a mean rate until all have ended. */
    void run(int requests, double perSecond, Http2Headers head) {
        double at = 0;
        for (int i = 0; i < requests; i++) {
            at += -Math.log(1 - random.nextDouble()) / perSecond;
            at(at, () -> arrive(head));
        }
        pending += requests;
        while (pending > 0) {
            Event next = events.peek();
            long timers = channel.runScheduledPendingTasks();
            if (next == null || timers >= 0 && nowNanos + timers < next.atNanos) {
                advance(timers);
            } else {
                events.remove();
                advance(next.atNanos - nowNanos);
                next.action.run();
            }
            channel.runPendingTasks();
        }
        channel.close();
    }

    private void advance(long nanos) {
        channel.advanceTimeBy(nanos, TimeUnit.NANOSECONDS);
        nowNanos += nanos;
    }

    /** A request arrives to which any worker answers with this status. */
    void arrive(Http2Headers head, int status) {
        fixedStatus = status;
        pending++;
        arrive(head);
        fixedStatus = 0;
    }

    private void arrive(Http2Headers head) {
        long arrivedNanos = nowNanos;
        int second = (int) seconds();
        arrivedIn.merge(second, 1, Integer::sum);
        shard.open(new DefaultHttp2Headers().setAll(head), true, new SilentClient() {
            @Override
            public void onHead(Http2Headers responseHead, boolean end) {
                latencies.add(nowNanos - arrivedNanos);
                answeredOf.merge(second, 1, Integer::sum);
                pending--;
            }

            @Override
            public void onFailure(Failure failure) {
                pending--;
            }
        });
    }

    final class Worker {
        private final PooledConnection member;
        private final Behaviour behaviour;
        private final List<Stream> open = new ArrayList<>();
        private long stoppedUntilNanos;
        boolean killed;
        int taken;
        /** Requests that it did not answer well. */
        int bad;

        Worker(String id, Behaviour behaviour) {
            this.behaviour = behaviour;
            member = new PooledConnection(id);
            shard.workers().onMember(member);
            for (int i = 0; i < streams; i++) {
                Stream stream = new Stream(this);
                open.add(stream);
                shard.workers().onStreamOpened(member, stream);
            }
            shard.workers().setOpen(member, true);
        }

        /** The worker gets no more requests. */
        void eject() {
            shard.workers().setOpen(member, false);
        }

        /** The worker answers nothing for some time. */
        void stop(double seconds) {
            stoppedUntilNanos = nowNanos + (long) (seconds * 1e9);
        }

        String id() {
            return member.workerId();
        }

        boolean isEjected() {
            return member.health != null && member.health.isEjected();
        }

        int ejections() {
            return member.health == null ? 0 : member.health.ejections();
        }

        String reason() {
            return member.health == null ? "" : String.valueOf(member.health.reason());
        }

        int busy() {
            return member.busy;
        }

        /** The worker's connection is lost, with all that it serves. */
        void kill() {
            killed = true;
            shard.workers().setOpen(member, false);
            for (Stream stream : open) {
                Attempt lost = stream.attempt;
                stream.attempt = null;
                stream.exchange++;
                shard.workers().onStreamClosed(member, stream, lost == null && !stream.abandoned);
                if (lost != null) {
                    wasted++;
                    lost.onLost(new Failure(Failure.Kind.WORKER_LOST, "killed"));
                }
            }
            shard.workers().onMemberGone(member);
        }
    }

    private final class Stream implements Carrier, RequestSink {
        private final Worker worker;
        private @Nullable Attempt attempt;
        private boolean abandoned;
        private int exchange;
        private int fixed;
        private long begunNanos;
        private long answeredNanos;

        Stream(Worker worker) {
            this.worker = worker;
        }

        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
            attempt = forAttempt;
            begunNanos = shard.nanoTime();
            fixed = fixedStatus;
            served++;
            worker.taken++;
            int carried = ++exchange;
            long nanos = worker.behaviour.serviceNanos(random);
            if (nanos != HANG) {
                after(nanos, () -> respond(carried));
            }
            return this;
        }

        private void respond(int carried) {
            if (exchange != carried) {
                return;
            }
            if (worker.stoppedUntilNanos - nowNanos > 0) {
                after(worker.stoppedUntilNanos - nowNanos, () -> respond(carried));
                return;
            }
            int status = fixed == 0 ? worker.behaviour.status() : fixed;
            worker.bad += status == 0 || status >= 500 ? 1 : 0;
            if (status == 0) {
                refuse();
                return;
            }
            long length = worker.behaviour.lengthNanos();
            Attempt to = attempt;
            attempt = length == 0 ? null : to;
            answeredNanos = shard.nanoTime();
            worker.member.onAnswer(answeredNanos);
            if (to != null) {
                to.onHead(new DefaultHttp2Headers().status(Integer.toString(status)), length == 0);
            }
            if (length == 0) {
                end(status);
            } else {
                after(length, () -> {
                    if (exchange == carried) {
                        if (attempt != null) {
                            attempt.onData(Unpooled.EMPTY_BUFFER, true);
                        }
                        end(status);
                    }
                });
            }
        }

        private void end(int status) {
            attempt = null;
            exchange++;
            worker.member.onExchangeEnd(status >= 500, begunNanos, answeredNanos);
            shard.workers().onStreamFree(worker.member, this);
        }

        private void refuse() {
            Attempt to = attempt;
            attempt = null;
            exchange++;
            worker.member.onRefused();
            if (to != null) {
                to.onRefused(new Failure(Failure.Kind.WORKER_LOST, "refused"));
            }
            shard.workers().onStreamFree(worker.member, this);
        }

        @Override
        public void onGivenUp() {
            shard.workers().onGivenUp(worker.member);
        }

        @Override
        public void cancel(ErrorCode code) {
            // A stream whose response ends is cancelled without effect.
            if (attempt == null) {
                return;
            }
            attempt = null;
            wasted++;
            abandoned = true;
            int cancelled = ++exchange;
            worker.member.onExchangeEnd(code == ErrorCode.TIMEOUT, begunNanos, PooledConnection.UNANSWERED);
            after(CANCEL_NANOS, () -> {
                if (exchange == cancelled) {
                    abandoned = false;
                    shard.workers().onStreamFree(worker.member, this);
                }
            });
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            throw new AssertionError("requests have no body");
        }

        @Override
        public void trailers(Http2Headers trailers) {
            throw new AssertionError("requests have no trailers");
        }

        @Override
        public void responseTaken(int bytes) {}

        @Override
        public String workerId() {
            return worker.member.workerId();
        }
    }

    @Override
    public String toString() {
        return "outcomes " + outcomes + ", extra attempts " + extras + ", wasted " + wasted + " of " + served
                + ", latency p50, p95, p99, p99.9, max: "
                + Arrays.toString(new double[] {
                    quantileMillis(0.5),
                    quantileMillis(0.95),
                    quantileMillis(0.99),
                    quantileMillis(0.999),
                    quantileMillis(1)
                });
    }
}
