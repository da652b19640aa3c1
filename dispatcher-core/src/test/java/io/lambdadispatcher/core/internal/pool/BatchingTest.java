package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs the pool in virtual time with a hundred simulated workers of 0.29 vCPU, which serve one
 * request after the other. Compares the latency with and without batches, for the same requests.
 */
class BatchingTest {
    private static final int WORKERS = 100;
    private static final int STREAMS = 100;
    private static final int REQUESTS = 50_000;
    /** Lambda gives this share of a vCPU to a function of 512 MB. */
    private static final double VCPU = 0.29;

    private static final long BOUND_NANOS = (long) (TimeUnit.MICROSECONDS.toNanos(250) / VCPU);
    private static final double PING_MICROS = 25;
    private static final double COMPUTING_MICROS = 5_000;

    private enum Traffic {
        UNIFORM(1, 0.3, random -> (long) (PING_MICROS * 1_000)),
        BURSTY(50, 0.3, random -> (long) (PING_MICROS * 1_000)),
        BUSY(50, 0.8, random -> (long) (PING_MICROS * 1_000)),
        COMPUTING(50, 0.3, random -> (long) (COMPUTING_MICROS * 1_000)),
        VARYING(50, 0.3, random -> (long) (-Math.log(1 - random.nextDouble()) * PING_MICROS * 1_000)),
        FEW_COMPUTE(50, 0.3, random -> (long) ((random.nextInt(100) == 0 ? COMPUTING_MICROS : PING_MICROS) * 1_000)),
        MANY_COMPUTE(50, 0.3, random -> (long) ((random.nextInt(10) == 0 ? COMPUTING_MICROS : PING_MICROS) * 1_000));

        /** The mean number of requests that arrive in one turn of the event loop. */
        final int burst;

        /** The share of the workers' CPU time that the requests use. */
        final double utilization;

        final ToLongFunction<Random> cpu;

        Traffic(int burst, double utilization, ToLongFunction<Random> cpu) {
            this.burst = burst;
            this.utilization = utilization;
            this.cpu = cpu;
        }
    }

    private record Event(long atNanos, long number, Runnable action) {}

    private record Found(double p50Millis, double p99Millis, double perWrite) {}

    /** One run. The requests depend only on the traffic. */
    private static final class Simulation {
        private final EmbeddedChannel channel = new EmbeddedChannel();
        private final PoolShard shard;
        private final PriorityQueue<Event> events =
                new PriorityQueue<>(Comparator.comparingLong(Event::atNanos).thenComparingLong(Event::number));
        private final long[] cpuNanos = new long[REQUESTS];
        private final long[] arrivedNanos = new long[REQUESTS];
        private final long[] latencyNanos = new long[REQUESTS];
        private final Set<PooledConnection> writtenTo = new HashSet<>();
        private long nowNanos;
        private long numbered;
        private int ended;
        private int writes;

        Simulation(Traffic traffic, boolean batches) {
            FunctionPool pool = new FunctionPool(
                    FunctionOptions.builder("f").build(), List.of(channel.eventLoop()), DispatcherObserver.NONE);
            shard = pool.shard(0);
            channel.freezeTime();
            Random random = new Random(7);
            double total = 0;
            for (int i = 0; i < REQUESTS; i++) {
                cpuNanos[i] = traffic.cpu.applyAsLong(random);
                total += cpuNanos[i];
            }
            double meanNanos = total / REQUESTS;
            for (int i = 0; i < WORKERS; i++) {
                PooledConnection member = addWorker(i);
                member.onRequestCpu(batches ? (int) Math.ceil(meanNanos / 1_000) : 0);
            }
            double nanosPerRequest = meanNanos / VCPU / WORKERS / traffic.utilization;
            double atNanos = 0;
            for (int i = 0; i < REQUESTS; ) {
                int size = Math.min(REQUESTS - i, 1 + random.nextInt(2 * traffic.burst - 1));
                atNanos += -Math.log(1 - random.nextDouble()) * nanosPerRequest * size;
                int first = i;
                at((long) atNanos, () -> arrive(first, size));
                i += size;
            }
        }

        private PooledConnection addWorker(int index) {
            PooledConnection member = new PooledConnection("worker-" + index);
            Cpu cpu = new Cpu();
            shard.workers().onMember(member);
            for (int i = 0; i < STREAMS; i++) {
                shard.workers().onStreamOpened(member, new Stream(member, cpu));
            }
            shard.workers().setOpen(member, true);
            return member;
        }

        private void at(long nanos, Runnable action) {
            events.add(new Event(nanos, numbered++, action));
        }

        Found run() {
            for (Event next = events.poll(); next != null; next = events.poll()) {
                channel.advanceTimeBy(next.atNanos - nowNanos, TimeUnit.NANOSECONDS);
                nowNanos = next.atNanos;
                writtenTo.clear();
                next.action.run();
                // Only what runs in this turn; the timeouts are far away.
                channel.runPendingTasks();
            }
            assertThat(ended).isEqualTo(REQUESTS);
            channel.close();
            Arrays.sort(latencyNanos);
            return new Found(
                    latencyNanos[REQUESTS / 2] / 1e6,
                    latencyNanos[REQUESTS / 100 * 99] / 1e6,
                    (double) REQUESTS / writes);
        }

        private void arrive(int first, int size) {
            for (int i = first; i < first + size; i++) {
                arrivedNanos[i] = nowNanos;
                int index = i;
                Http2Headers head = new DefaultHttp2Headers()
                        .method("GET")
                        .scheme("http")
                        .authority("a")
                        .path(Integer.toString(index));
                shard.open(head, true, new Client(() -> {
                    latencyNanos[index] = nowNanos - arrivedNanos[index];
                    ended++;
                }));
            }
        }

        private static final class Cpu {
            long freeAtNanos;
        }

        private final class Stream implements Carrier, RequestSink {
            private final PooledConnection member;
            private final Cpu cpu;

            Stream(PooledConnection member, Cpu cpu) {
                this.member = member;
                this.cpu = cpu;
            }

            @Override
            public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt attempt) {
                int index = Integer.parseInt(Objects.requireNonNull(head.path()).toString());
                writes += writtenTo.add(member) ? 1 : 0;
                cpu.freeAtNanos = Math.max(nowNanos, cpu.freeAtNanos) + (long) (cpuNanos[index] / VCPU);
                at(cpu.freeAtNanos, () -> {
                    attempt.onHead(new DefaultHttp2Headers().status("200"), true);
                    member.onExchangeEnd(false);
                    shard.workers().onStreamFree(member, this);
                });
                return this;
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
            public void cancel(ErrorCode code) {
                throw new AssertionError("cancelled: " + code);
            }

            @Override
            public void responseTaken(int bytes) {}

            @Override
            public String workerId() {
                return member.workerId();
            }
        }
    }

    private record Client(Runnable onAnswer) implements ResponseSink {
        @Override
        public void onInterim(Http2Headers head) {}

        @Override
        public void onHead(Http2Headers head, boolean end) {
            onAnswer.run();
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            data.release();
        }

        @Override
        public void onTrailers(Http2Headers trailers) {}

        @Override
        public void onFailure(Failure failure) {
            throw new AssertionError(failure.toString());
        }

        @Override
        public void onRequestTaken(int bytes) {}
    }

    @ParameterizedTest
    @EnumSource
    void should_delay_requests_by_no_more_than_the_bound(Traffic traffic) {
        Found without = new Simulation(traffic, false).run();
        Found with = new Simulation(traffic, true).run();
        assertThat(with.p99Millis).isLessThanOrEqualTo(without.p99Millis + BOUND_NANOS / 1e6);
        switch (traffic) {
            case COMPUTING, MANY_COMPUTE -> assertThat(with).isEqualTo(without);
            case UNIFORM -> assertThat(with.perWrite).isEqualTo(1);
            default -> assertThat(with.perWrite).isGreaterThan(2 * without.perWrite);
        }
    }
}
