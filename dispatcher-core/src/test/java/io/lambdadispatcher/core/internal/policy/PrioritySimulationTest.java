package io.lambdadispatcher.core.internal.policy;

import static io.lambdadispatcher.core.options.Priority.CRITICAL;
import static io.lambdadispatcher.core.options.Priority.NORMAL;
import static io.lambdadispatcher.core.options.Priority.SHEDDABLE;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.lambdadispatcher.core.options.Priority;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares rules for three times as many requests as can be served, in virtual time. 100 worker
 * streams serve 1,000 requests per second, each in 50 to 150 ms. For 60 s, 3,000 arrive per second:
 * 400 critical, 1,100 normal and 1,500 sheddable ones. Before and after that, 800 arrive in the
 * same proportions. The queue is the real one, with its timeout of 10 s. {@link #main} prints the
 * table that {@code docs/explanation/back-pressure.md} shows.
 */
class PrioritySimulationTest {
    private static final int STREAMS = 100;
    private static final int CAPACITY_PER_SECOND = 1000;
    private static final int FROM = 5_000;
    private static final int UNTIL = 65_000;
    private static final int END = 75_000;
    private static final int TIMEOUT = 10_000;
    private static final int STALE = 500;
    private static final int GOOD = 1_000;
    private static final int DEADLINE_OF_CRITICAL = 500;
    private static final long SHED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final double[] OVERLOAD = {0.4, 1.1, 1.5};
    private static final double CALM = 0.8;

    /**
     * A combination of the parts of the rule.
     *
     * @param weighted whether priorities have different costs in the queue
     * @param shedding whether requests that would wait for too long are refused
     */
    private record Rule(boolean weighted, boolean shedding) {
        static final Rule NONE = new Rule(false, false);
        static final Rule WEIGHTS = new Rule(true, false);
        static final Rule SHEDDING = new Rule(false, true);
        static final Rule BOTH = new Rule(true, true);
    }

    private record Request(Priority priority, int arrived, int serviceMillis) {}

    private static final class Run {
        private final EmbeddedChannel loop = new EmbeddedChannel();
        private final FairQueue<Request> queue =
                new FairQueue<>(loop.eventLoop(), TimeUnit.MILLISECONDS.toNanos(TIMEOUT), this::onTimeout);
        private final PriorityShares shares = new PriorityShares();
        private final Rule rule;
        private final Random random;
        private final int[] ending = new int[2 * END];
        private final int[] came = new int[3];
        private final int[] servedInTime = new int[3];
        private int criticalInDeadline;
        private int goodOfAll;
        private int lastTrouble;
        private int busySince;
        private int free = STREAMS;
        private long virtualTime;

        /** @param perMilli arrivals during the overload, of each priority */
        Run(Rule rule, long seed, double... perMilli) {
            this.rule = rule;
            this.random = new Random(seed);
            loop.freezeTime();
            double sum = perMilli[0] + perMilli[1] + perMilli[2];
            for (int now = 0; now < END; now++) {
                loop.advanceTimeBy(1, TimeUnit.MILLISECONDS);
                loop.runScheduledPendingTasks();
                free += ending[now];
                double scale = isOverload(now) ? 1 : CALM / sum;
                for (Priority priority : Priority.values()) {
                    for (int i = poisson(perMilli[priority.ordinal()] * scale); i > 0; i--) {
                        arrive(priority, now);
                    }
                }
                serve(now);
                if (queue.size() == 0) {
                    busySince = now;
                }
            }
            loop.finishAndReleaseAll();
        }

        private static boolean isOverload(int millis) {
            return millis >= FROM && millis < UNTIL;
        }

        private int poisson(double mean) {
            int count = 0;
            for (double left = random.nextDouble(); left > Math.exp(-mean); left *= random.nextDouble()) {
                count++;
            }
            return count;
        }

        private void arrive(Priority priority, int now) {
            int index = priority.ordinal();
            came[index] += isOverload(now) ? 1 : 0;
            Request request = new Request(priority, now, 50 + random.nextInt(101));
            if (free > 0 && queue.size() == 0) {
                begin(request, now);
                return;
            }
            if (rule.shedding && shares.refuses(priority, SHED_NANOS)) {
                lastTrouble = now;
                return;
            }
            shares.onQueued(priority, queue.size() == 0);
            queue.add(queue.newTicket(
                    request,
                    rule.weighted ? shares.nextTag(priority, virtualTime) : virtualTime,
                    loop.eventLoop().ticker().nanoTime()));
        }

        private void onTimeout(Ticket<Request> expired) {
            shares.onLeft(expired.entry.priority);
            lastTrouble = expired.entry.arrived + TIMEOUT;
        }

        private void serve(int now) {
            while (free > 0) {
                Ticket<Request> next = queue.poll();
                if (next == null) {
                    return;
                }
                Request request = next.entry;
                shares.onLeft(request.priority);
                int waited = now - request.arrived;
                boolean stale = waited > STALE && now - busySince >= TIMEOUT;
                boolean shed = rule.shedding
                        && shares.sheds(
                                request.priority,
                                SHED_NANOS,
                                TimeUnit.MILLISECONDS.toNanos(Math.min(waited, now - busySince)),
                                loop.eventLoop().ticker().nanoTime());
                if (queue.size() > 0 && (stale || shed)) {
                    lastTrouble = now;
                } else {
                    virtualTime = Math.max(virtualTime, next.tag);
                    begin(request, now);
                }
            }
        }

        private void begin(Request request, int now) {
            free--;
            int end = now + request.serviceMillis;
            ending[end]++;
            int index = request.priority.ordinal();
            int latency = end - request.arrived;
            if (now - request.arrived > 100) {
                lastTrouble = now;
            }
            if (latency <= GOOD && isOverload(end)) {
                goodOfAll++;
            }
            if (isOverload(request.arrived)) {
                servedInTime[index] += latency <= GOOD ? 1 : 0;
                criticalInDeadline += index == 0 && latency <= DEADLINE_OF_CRITICAL ? 1 : 0;
            }
        }

        /** Returns the part of the capacity that served requests in time during the overload. */
        double goodput() {
            return goodOfAll / ((UNTIL - FROM) / 1000.0 * CAPACITY_PER_SECOND);
        }

        /** Returns the part of a priority's requests that were answered in time. */
        double inTime(Priority priority) {
            return (double) servedInTime[priority.ordinal()] / came[priority.ordinal()];
        }

        /** Returns the part of the capacity that served requests of this priority in time. */
        double shareOf(Priority priority) {
            return servedInTime[priority.ordinal()] / ((UNTIL - FROM) / 1000.0 * CAPACITY_PER_SECOND);
        }

        double criticalInDeadline() {
            return (double) criticalInDeadline / came[0];
        }

        /** Returns when the last request after the overload was refused or waited over 100 ms. */
        double recoverySeconds() {
            return Math.max(0, lastTrouble - UNTIL) / 1000.0;
        }

        String row(String name) {
            return String.format(
                    "| %s | %.0f %% | %.2f %% | %.0f %% | %.0f %% | %.1f s |",
                    name,
                    100 * goodput(),
                    100 * criticalInDeadline(),
                    100 * inTime(NORMAL),
                    100 * inTime(SHEDDABLE),
                    recoverySeconds());
        }
    }

    public static void main(String[] args) {
        System.out.println(new Run(Rule.NONE, 1, OVERLOAD).row("no priorities"));
        System.out.println(new Run(Rule.WEIGHTS, 1, OVERLOAD).row("weights, no shedding by delay"));
        System.out.println(new Run(Rule.SHEDDING, 1, OVERLOAD).row("shedding by delay, no weights"));
        System.out.println(new Run(Rule.BOTH, 1, OVERLOAD).row("both: this dispatcher"));
        System.out.println(new Run(Rule.BOTH, 1, 1.5, 0.5, 1).row("critical alone is too much"));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void should_serve_critical_requests_and_lose_no_capacity(long seed) {
        Run run = new Run(Rule.BOTH, seed, OVERLOAD);
        assertThat(run.criticalInDeadline()).isEqualTo(1.0);
        assertThat(run.goodput()).isGreaterThan(0.9);
        assertThat(run.recoverySeconds()).isLessThan(2);
        assertThat(run.inTime(NORMAL)).isGreaterThan(2 * run.inTime(SHEDDABLE));
        assertThat(run.shareOf(SHEDDABLE)).isGreaterThan(0.03);
    }

    /** Without a part of the rule, the simulation shows a failure. */
    @Test
    void should_need_both_parts() {
        Run none = new Run(Rule.NONE, 1, OVERLOAD);
        Run weights = new Run(Rule.WEIGHTS, 1, OVERLOAD);
        Run shedding = new Run(Rule.SHEDDING, 1, OVERLOAD);
        assertThat(none.criticalInDeadline()).isLessThan(0.5);
        assertThat(weights.shareOf(SHEDDABLE)).isLessThan(0.01);
        assertThat(shedding.criticalInDeadline()).isLessThan(0.9);
    }

    @Test
    void should_starve_no_priority_if_critical_requests_alone_are_too_many() {
        Run run = new Run(Rule.BOTH, 1, 1.5, 0.5, 1);
        // Those that wait for longer than a second do not count.
        assertThat(run.shareOf(CRITICAL)).isGreaterThan(0.4);
        assertThat(run.shareOf(NORMAL)).isGreaterThan(0.1);
        assertThat(run.shareOf(SHEDDABLE)).isGreaterThan(0.03);
    }
}
