package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.options.BreakerPolicy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A function behind a breaker, in virtual time. It serves 60 requests concurrently, in 10 ms each
 * while its caches are warm, and in 100 ms while they are cold: then it cannot serve all of the
 * 1,000 requests per second. A request that is slower than 500 ms is slow for the breaker, and
 * after 2 s its client gives up, although the function still works on it. {@link #main} prints what
 * happens with and without the breaker.
 */
class BreakerSimulationTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long LATENCY = SECOND / 2;
    private static final long PATIENCE = 2 * SECOND;
    private static final int SERVERS = 60;
    private static final double WARM_MILLIS = 10;
    private static final double COLD_MILLIS = 100;
    private static final double REQUESTS_UNTIL_WARM = 3_000;

    private static final BreakerPolicy POLICY = BreakerPolicy.builder("test")
            .errors(0.5)
            .latency(Duration.ofMillis(500))
            .build();

    private record Event(long atNanos, long number, Runnable action) {}

    private record Change(double atSeconds, BreakerState state, String reason) {}

    private static final class Request {
        final long atNanos;
        final Breaker.@Nullable Phase passed;
        boolean counted;

        Request(long atNanos, Breaker.@Nullable Phase passed) {
            this.atNanos = atNanos;
            this.passed = passed;
        }
    }

    private static final class Run {
        final List<Change> changes = new ArrayList<>();

        /** Answers in time, requests that were refused at once, and others, in each second. */
        final int[] good = new int[1_000];

        final int[] refused = new int[1_000];
        final int[] lost = new int[1_000];

        private final Random random;
        private final boolean protectedByBreaker;
        private final PriorityQueue<Event> events =
                new PriorityQueue<>(Comparator.comparingLong(Event::atNanos).thenComparingLong(Event::number));
        private final Queue<Request> waiting = new ArrayDeque<>();
        private final Breaker breaker;
        private double errorRate;
        private double served = 1e9;
        private long hangFrom = Long.MAX_VALUE;
        private long hangUntil = Long.MAX_VALUE;
        private long now;
        private long numbered;
        private int busy;

        Run(long seed, boolean protectedByBreaker) {
            random = new Random(seed);
            this.protectedByBreaker = protectedByBreaker;
            breaker = new Breaker((state, reason) -> changes.add(new Change(now / 1e9, state, reason)), now);
        }

        /** All requests of this time hang until its end. Then the caches are cold. */
        Run hanging(double from, double until) {
            hangFrom = (long) (from * SECOND);
            hangUntil = (long) (until * SECOND);
            return this;
        }

        Run failing(double rate) {
            errorRate = rate;
            return this;
        }

        Run run(double perSecond, double seconds) {
            for (double at = next(perSecond); at < seconds; at += next(perSecond)) {
                at((long) (at * SECOND), this::arrive);
            }
            at(hangUntil, () -> served = 0);
            for (Event event = events.poll();
                    event != null && event.atNanos < seconds * SECOND;
                    event = events.poll()) {
                now = event.atNanos;
                event.action.run();
            }
            return this;
        }

        private double next(double perSecond) {
            return -Math.log(1 - random.nextDouble()) / perSecond;
        }

        private void at(long nanos, Runnable action) {
            events.add(new Event(nanos, numbered++, action));
        }

        private int second(Request request) {
            return (int) (request.atNanos / SECOND);
        }

        private void arrive() {
            Request request = new Request(now, protectedByBreaker ? breaker.tryPass(POLICY, now) : null);
            if (protectedByBreaker && request.passed == null) {
                refused[second(request)]++;
                return;
            }
            at(now + LATENCY, () -> count(request, true));
            waiting.add(request);
            serve();
        }

        private void count(Request request, boolean failed) {
            if (!request.counted && request.passed != null) {
                request.counted = true;
                breaker.onEnd(request.passed, failed, POLICY, now);
            }
        }

        private void serve() {
            while (busy < SERVERS && !waiting.isEmpty()) {
                busy++;
                Request next = waiting.remove();
                double cold = Math.exp(-served / REQUESTS_UNTIL_WARM);
                double mean = WARM_MILLIS + (COLD_MILLIS - WARM_MILLIS) * cold;
                long service = (long) (mean * (0.5 + random.nextDouble()) * 1e6);
                boolean hangs = now >= hangFrom && now < hangUntil;
                at(hangs ? hangUntil : now + service, () -> end(next));
            }
        }

        private void end(Request request) {
            busy--;
            served++;
            boolean error = random.nextDouble() < errorRate;
            count(request, error);
            (now - request.atNanos <= PATIENCE ? good : lost)[second(request)]++;
            serve();
        }

        List<Change> openings() {
            return changes.stream()
                    .filter(each -> each.state == BreakerState.OPEN)
                    .toList();
        }

        int sum(int[] counts, int from, int until) {
            int sum = 0;
            for (int i = from; i < until; i++) {
                sum += counts[i];
            }
            return sum;
        }
    }

    public static void main(String[] args) {
        for (boolean breaker : new boolean[] {false, true}) {
            Run run = new Run(1, breaker).hanging(10, 40).run(1_000, 100);
            run.changes.forEach(System.out::println);
            System.out.println((breaker ? "breaker" : "no breaker") + ": 10 to 40 s refused "
                    + run.sum(run.refused, 10, 40) + ", lost " + run.sum(run.lost, 10, 40) + "; 40 to 70 s refused "
                    + run.sum(run.refused, 40, 70) + ", lost " + run.sum(run.lost, 40, 70) + ", good "
                    + run.sum(run.good, 40, 70));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void should_open_within_a_second_if_all_requests_hang_and_return_without_collapse(long seed) {
        Run run = new Run(seed, true).hanging(10, 40).run(1_000, 100);

        List<Change> openings = run.openings();
        assertThat(openings.get(0).atSeconds).isBetween(10.5, 11.0);
        // It opens for 5, 10, 20 and 20 s, and never again after the end.
        assertThat(openings).hasSizeBetween(2, 4);
        assertThat(openings.get(openings.size() - 1).atSeconds).isLessThan(40);
        Change last = run.changes.get(run.changes.size() - 1);
        assertThat(last.state).isEqualTo(BreakerState.CLOSED);
        assertThat(last.atSeconds).isLessThan(40 + 20 + 2 * 5 + 1);
        // The function saw a small part of what arrived while it hung.
        assertThat(run.sum(run.refused, 11, 40)).isGreaterThan(28_000);
        assertThat(run.sum(run.lost, 41, 100)).isZero();
        assertThat(run.sum(run.good, 72, 99)).isGreaterThan(26_000);
    }

    @ParameterizedTest
    @ValueSource(doubles = {2, 5, 20, 200, 1_000})
    void should_stay_closed_at_an_error_rate_below_its_own(double perSecond) {
        for (long seed = 0; seed < 5; seed++) {
            Run run = new Run(seed, true).failing(0.2).run(perSecond, perSecond > 100 ? 100 : 900);
            assertThat(run.changes).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {5, 20, 200, 1_000})
    void should_open_and_open_again_for_longer_while_all_fail(double perSecond) {
        Run run = new Run(1, true).failing(1).run(perSecond, 300);
        List<Change> openings = run.openings();
        assertThat(openings.get(0).atSeconds).isLessThan(0.5 + 30 / perSecond);
        assertThat(openings.get(1).atSeconds - openings.get(0).atSeconds).isBetween(5.0, 5.1 + 40 / perSecond);
        assertThat(openings.get(4).atSeconds - openings.get(3).atSeconds).isBetween(20.0, 20.1 + 40 / perSecond);
        assertThat(openings).hasSizeBetween(8, 17);
    }

    /** At night, few requests pass in a step. */
    @Test
    void should_close_although_few_requests_arrive() {
        List<BreakerState> states = new ArrayList<>();
        Breaker breaker = new Breaker((state, reason) -> states.add(state), 0);
        for (int i = 0; i < Breaker.MIN_REQUESTS; i++) {
            breaker.onEnd(breaker.tryPass(POLICY, 0), true, POLICY, 0);
        }
        for (int minutes = 1; minutes < 40 && breaker.state() != BreakerState.CLOSED; minutes++) {
            long now = minutes * 60 * SECOND;
            Breaker.Phase passed = breaker.tryPass(POLICY, now);
            if (passed != null) {
                breaker.onEnd(passed, false, POLICY, now);
            }
        }
        assertThat(states)
                .containsExactly(BreakerState.OPEN, BreakerState.RAMP_20, BreakerState.RAMP_60, BreakerState.CLOSED);
    }

    @Test
    void should_let_every_fifth_request_pass_and_then_three_of_five() {
        List<BreakerState> states = new ArrayList<>();
        Breaker breaker = new Breaker((state, reason) -> states.add(state), 0);
        assertThat(breaker.snapshot("f", "test")).isNull();
        BreakerPolicy policy = BreakerPolicy.builder("test")
                .errors(0.5)
                .open(Duration.ofSeconds(1))
                .build();
        for (int i = 0; i < Breaker.MIN_REQUESTS; i++) {
            Breaker.Phase passed = breaker.tryPass(policy, 0);
            assertThat(passed).isNotNull();
            breaker.onEnd(passed, true, policy, 0);
        }
        assertThat(states).containsExactly(BreakerState.OPEN);
        assertThat(breaker.snapshot("f", "test"))
                .isEqualTo(new BreakerSnapshot(
                        "f", "test", BreakerState.OPEN, "20 of 20 requests failed or were slow; open for 1000 ms"));
        assertThat(breaker.tryPass(policy, SECOND - 1)).isNull();
        assertThat(breaker.leftNanos(SECOND - 1)).isEqualTo(1);

        assertThat(passing(breaker, policy, SECOND)).isEqualTo("....x....x....x....x....x");
        for (int i = 0; i < 4; i++) {
            assertThat(breaker.tryPass(policy, SECOND)).isNull();
        }
        breaker.onEnd(breaker.tryPass(policy, SECOND), false, policy, 2 * SECOND);
        assertThat(breaker.state()).isEqualTo(BreakerState.RAMP_60);
        assertThat(passing(breaker, policy, 2 * SECOND)).isEqualTo(".x.xx.x.xx.x.xx.x.xx.x.xx");
        assertThat(states).containsExactly(BreakerState.OPEN, BreakerState.RAMP_20, BreakerState.RAMP_60);
    }

    /** Returns which of 25 requests pass. All of them succeed. */
    private static String passing(Breaker breaker, BreakerPolicy policy, long nowNanos) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 25; i++) {
            Breaker.Phase passed = breaker.tryPass(policy, nowNanos);
            text.append(passed == null ? '.' : 'x');
            if (passed != null) {
                breaker.onEnd(passed, false, policy, nowNanos);
            }
        }
        return text.toString();
    }

    @Test
    void should_ignore_requests_of_an_earlier_phase() {
        List<BreakerState> states = new ArrayList<>();
        Breaker breaker = new Breaker((state, reason) -> states.add(state), 0);
        List<Breaker.Phase> hanging = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            hanging.add(breaker.tryPass(POLICY, 0));
        }
        for (Breaker.Phase passed : hanging.subList(0, 60)) {
            breaker.onEnd(passed, true, POLICY, 0);
        }
        assertThat(breaker.state()).isEqualTo(BreakerState.OPEN);
        long later = 6 * SECOND;
        for (int i = 0; i < 5; i++) {
            breaker.tryPass(POLICY, later);
        }
        for (Breaker.Phase passed : hanging.subList(60, 100)) {
            breaker.onEnd(passed, true, POLICY, later);
        }
        assertThat(breaker.state()).isEqualTo(BreakerState.RAMP_20);
        assertThat(states).containsExactly(BreakerState.OPEN, BreakerState.RAMP_20);
    }
}
