package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures removing one queued request, in each possible way, and adding another. Sixteen clients
 * take turns. The time should hardly depend on the number of queued requests. Virtual time advances
 * so that the oldest request is due exactly when the next one is added.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PendingQueueBenchmark {
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(10);

    @Param({"10", "1000", "100000"})
    public int waiting;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final FairQueue<Request> queue =
            new FairQueue<>(channel.eventLoop(), TIMEOUT_NANOS, ticket -> expired = ticket.entry);
    private Request[] requests = {};
    private int[] order = {};
    private int step;
    private long added;
    private @Nullable Request expired;

    private static final class Request {
        private FairQueue.@Nullable Ticket<Request> ticket;
    }

    @Setup
    public void prepare() {
        channel.freezeTime();
        requests = new Request[waiting];
        order = new Random(waiting).ints(1 << 16, 0, waiting).toArray();
        for (int i = 0; i < waiting; i++) {
            requests[i] = new Request();
            letTimePass();
            add(requests[i]);
        }
    }

    private void letTimePass() {
        channel.advanceTimeBy(TIMEOUT_NANOS / waiting, TimeUnit.NANOSECONDS);
    }

    private void add(@Nullable Request request) {
        if (request == null) {
            throw new IllegalStateException("no request has gone, expected one of " + waiting);
        }
        long tag = (added++ >> 4) + (added & 15) * (long) waiting / 16;
        request.ticket =
                queue.newTicket(request, tag, channel.eventLoop().ticker().nanoTime());
        queue.add(request.ticket);
    }

    @TearDown
    public void release() {
        channel.finishAndReleaseAll();
    }

    @Benchmark
    public void dequeueAndEnqueue() {
        FairQueue.Ticket<Request> head = queue.poll();
        letTimePass();
        add(head == null ? null : head.entry);
    }

    /** Removes a request from any position, as when its client disconnects. */
    @Benchmark
    public void cancelAndEnqueue() {
        Request request = requests[order[step++ & order.length - 1]];
        boolean removed = queue.remove(request.ticket);
        letTimePass();
        add(removed ? request : null);
    }

    /**
     * Removes the oldest request by the event loop's timer, which is the timer of Netty's embedded
     * loop.
     */
    @Benchmark
    public void expireAndEnqueue() {
        letTimePass();
        expired = null;
        channel.runScheduledPendingTasks();
        add(expired);
    }
}
