package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Compares rules for a queue that does not empty, in virtual time. 100 worker streams serve 1,000
 * requests per second. 800 requests per second arrive, except for 60 s in which three times as many
 * arrive as can be served. The queue is the real one, with its timeout of 10 s. {@link #main}
 * prints the table that {@code docs/explanation/back-pressure.md} shows.
 */
class SheddingSimulationTest {
    private static final int STREAMS = 100;
    private static final double SERVICE_MILLIS = 100;
    private static final double CALM_PER_MILLI = 0.8;
    private static final double SPIKE_PER_MILLI = 3;
    private static final int SPIKE_FROM = 30_000;
    private static final int SPIKE_UNTIL = 90_000;
    private static final int END = 120_000;
    private static final int TIMEOUT = 10_000;
    private static final int STALE = 500;
    private static final int GOOD = 1_000;

    /**
     * A rule that chooses the next request, and says whether it is dropped. Times are in
     * milliseconds.
     */
    private abstract static class Discipline {
        /** Time since which the queue has not been empty. */
        int busySince;

        long tag(long order, int now) {
            return order;
        }

        boolean drops(int waited, int now) {
            return false;
        }

        boolean stands(int now) {
            return now - busySince >= TIMEOUT;
        }
    }

    private static final class Fifo extends Discipline {}

    private static final class ShedAllStale extends Discipline {
        @Override
        boolean drops(int waited, int now) {
            return waited > STALE && stands(now);
        }
    }

    /** The rule of {@link PoolShard}. */
    private static final class ShedStale extends Discipline {
        private final StandingQueue standing = new StandingQueue(TimeUnit.MILLISECONDS.toNanos(TIMEOUT));

        @Override
        boolean drops(int waited, int now) {
            standing.begin(TimeUnit.MILLISECONDS.toNanos(busySince));
            return standing.isStale(TimeUnit.MILLISECONDS.toNanos(now - waited), TimeUnit.MILLISECONDS.toNanos(now));
        }
    }

    /** Serves the youngest request first once the queue has not been empty for the timeout. */
    private static final class AdaptiveLifo extends Discipline {
        @Override
        long tag(long order, int now) {
            return stands(now) ? -order : order;
        }
    }

    /** CoDel (RFC 8289) with its control law. */
    private static final class CoDel extends Discipline {
        private final int target;
        private final int interval;
        private int firstAbove;
        private boolean dropping;
        private double dropNext;
        private int count;

        CoDel(int target, int interval) {
            this.target = target;
            this.interval = interval;
        }

        @Override
        boolean drops(int waited, int now) {
            if (waited < target) {
                firstAbove = 0;
                dropping = false;
                return false;
            }
            if (firstAbove == 0) {
                firstAbove = now + interval;
                return false;
            }
            if (!dropping && now >= firstAbove) {
                dropping = true;
                count = count > 2 && now - dropNext < 8 * interval ? count - 2 : 1;
                dropNext = now + interval / Math.sqrt(count);
                return true;
            }
            if (dropping && now >= dropNext) {
                count++;
                dropNext += interval / Math.sqrt(count);
                return true;
            }
            return false;
        }
    }

    private record Request(int arrived, int serviceMillis) {}

    private static final class Run {
        private final EmbeddedChannel loop = new EmbeddedChannel();
        private final FairQueue<Request> queue =
                new FairQueue<>(loop.eventLoop(), TimeUnit.MILLISECONDS.toNanos(TIMEOUT), ticket -> {});
        private final Discipline discipline;
        private final Random random = new Random(13);
        private final int[] ending = new int[2 * END];
        private final int[] latencies = new int[END * 4];
        private final int[] arrivedIn = new int[END / 1000];
        private final int[] servedOf = new int[END / 1000];
        private int served;
        private int goodInSpike;
        private int goodAfter;
        private int cameAfter;
        private int free = STREAMS;
        private long order;

        Run(Discipline discipline) {
            this.discipline = discipline;
            loop.freezeTime();
            for (int now = 0; now < END; now++) {
                loop.advanceTimeBy(1, TimeUnit.MILLISECONDS);
                loop.runScheduledPendingTasks();
                free += ending[now];
                boolean spike = now >= SPIKE_FROM && now < SPIKE_UNTIL;
                for (int i = poisson(spike ? SPIKE_PER_MILLI : CALM_PER_MILLI); i > 0; i--) {
                    arrive(now);
                }
                serve(now);
                if (queue.size() == 0) {
                    discipline.busySince = now;
                }
            }
            loop.finishAndReleaseAll();
            Arrays.sort(latencies, 0, served);
        }

        private int poisson(double mean) {
            int count = 0;
            for (double left = random.nextDouble(); left > Math.exp(-mean); left *= random.nextDouble()) {
                count++;
            }
            return count;
        }

        private void arrive(int now) {
            int service = 1 + (int) (-SERVICE_MILLIS * Math.log(1 - random.nextDouble()));
            cameAfter += isAfter(now) ? 1 : 0;
            arrivedIn[now / 1000]++;
            long nanos = loop.eventLoop().ticker().nanoTime();
            queue.add(queue.newTicket(new Request(now, Math.min(service, 2_000)), discipline.tag(order++, now), nanos));
        }

        private void serve(int now) {
            while (free > 0) {
                Ticket<Request> next = queue.poll();
                if (next == null) {
                    return;
                }
                Request request = next.entry;
                if (!discipline.drops(now - request.arrived, now) || queue.size() == 0) {
                    free--;
                    int end = now + request.serviceMillis;
                    ending[end]++;
                    onServed(request.arrived, end);
                }
            }
        }

        private void onServed(int arrived, int end) {
            latencies[served++] = end - arrived;
            servedOf[arrived / 1000]++;
            if (end - arrived <= GOOD) {
                goodInSpike += end >= SPIKE_FROM && end < SPIKE_UNTIL ? 1 : 0;
                goodAfter += isAfter(arrived) ? 1 : 0;
            }
        }

        /** Returns the share of the capacity that served requests in time during the spike. */
        double goodputInSpike() {
            return goodInSpike / ((SPIKE_UNTIL - SPIKE_FROM) * (STREAMS / SERVICE_MILLIS));
        }

        /** Returns the least part that was served of the requests that arrived in a second. */
        double leastServed() {
            double least = 1;
            for (int second = SPIKE_FROM / 1000; second < SPIKE_UNTIL / 1000; second++) {
                least = Math.min(least, (double) servedOf[second] / arrivedIn[second]);
            }
            return least;
        }

        /** Returns the share of the requests after the spike that were served in time. */
        double goodputAfter() {
            return (double) goodAfter / cameAfter;
        }

        /**
         * Returns whether the request arrived after the spike, and early enough for a response in
         * time to be counted.
         */
        private static boolean isAfter(int arrived) {
            return arrived >= SPIKE_UNTIL && arrived < END - GOOD;
        }

        int percentileMillis(double percent) {
            return latencies[(int) (served * percent / 100)];
        }

        String row(String name) {
            return String.format(
                    "| %s | %.0f %% | %.0f %% | %.0f %% | %.1f s | %.1f s |",
                    name,
                    100 * leastServed(),
                    100 * goodputInSpike(),
                    100 * goodputAfter(),
                    percentileMillis(50) / 1000.0,
                    percentileMillis(99) / 1000.0);
        }
    }

    public static void main(String[] args) {
        System.out.println(new Run(new Fifo()).row("first in, first out, timeout only"));
        System.out.println(new Run(new CoDel(5, 100)).row("CoDel, 5 ms and 100 ms"));
        System.out.println(new Run(new CoDel(STALE, TIMEOUT)).row("CoDel, 500 ms and 10 s"));
        System.out.println(new Run(new AdaptiveLifo()).row("adaptive LIFO"));
        System.out.println(new Run(new ShedAllStale()).row("all that has waited 500 ms is shed together"));
        System.out.println(new Run(new ShedStale()).row("this dispatcher"));
    }

    @Test
    void should_serve_fresh_requests_in_and_after_a_spike() {
        Run fifo = new Run(new Fifo());
        Run shedding = new Run(new ShedStale());
        assertThat(fifo.goodputInSpike()).isLessThan(0.2);
        assertThat(shedding.goodputInSpike()).isGreaterThan(0.5);
        assertThat(shedding.leastServed()).isGreaterThan(0.15);
        assertThat(new Run(new ShedAllStale()).leastServed()).isZero();
        assertThat(shedding.goodputAfter()).isGreaterThan(0.95).isGreaterThan(fifo.goodputAfter());
    }
}
