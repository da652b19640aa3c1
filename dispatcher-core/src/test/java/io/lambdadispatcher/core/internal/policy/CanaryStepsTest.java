package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.policy.CanarySteps.Step;
import io.lambdadispatcher.core.observe.CanarySnapshot;
import io.lambdadispatcher.core.observe.CanarySnapshot.State;
import io.lambdadispatcher.core.options.CanaryPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Simulates the requests of a function and its canary in virtual time. */
class CanaryStepsTest {
    private static final CanaryPolicy POLICY = new CanaryPolicy("next", List.of(10, 50, 100), Duration.ofMinutes(1));

    private final List<String> log = new ArrayList<>();
    private long now = 1_000;
    private Random random = new Random(1);
    private CanarySteps steps = steps(POLICY);

    /** How one side responds. Times are lognormal. */
    private record Side(double failureRate, double medianMillis) {}

    private CanarySteps steps(CanaryPolicy policy) {
        return new CanarySteps(
                "shop",
                policy,
                new CanarySteps.Listener() {
                    @Override
                    public void onShare(int percent, State state) {
                        log.add(percent + " " + state);
                    }

                    @Override
                    public void onStopped(String reason) {
                        log.add(reason);
                    }
                },
                now);
    }

    private State state() {
        return steps.snapshot().state();
    }

    private void request(Side function, Side canary) {
        Step step = steps.step();
        if (step != null) {
            boolean chosen = random.nextInt(100) < step.percent();
            Side side = chosen ? canary : function;
            long nanos = (long) (side.medianMillis * 1e6 * Math.exp(random.nextGaussian() * 0.7));
            steps.onResponse(step, chosen, random.nextDouble() < side.failureRate, nanos, now);
        }
    }

    private void run(Side function, Side canary, int perSecond, Duration time) {
        long gap = TimeUnit.SECONDS.toNanos(1) / perSecond;
        for (long end = now + time.toNanos(); now < end; now += gap) {
            request(function, canary);
        }
    }

    @Test
    void should_reach_all_requests_if_the_canary_is_as_good() {
        Side side = new Side(0.002, 10);
        run(side, side, 100, Duration.ofMinutes(4));
        assertThat(log).containsExactly("50 CANARY", "100 CANARY", "100 COMPLETE");
        assertThat(steps.percent()).isEqualTo(100);
        assertThat(steps.step()).as("nothing is counted any more").isNull();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.0, 0.001, 0.01, 0.05, 0.3})
    void should_not_stop_for_noise(double failureRate) {
        Side side = new Side(failureRate, 10);
        int stopped = 0;
        for (int seed = 0; seed < 100; seed++) {
            random = new Random(seed);
            steps = steps(POLICY);
            run(side, side, 50, Duration.ofMinutes(4));
            stopped += state() == State.COMPLETE ? 0 : 1;
        }
        assertThat(stopped).as("stopped of 100").isLessThanOrEqualTo(1);
    }

    @Test
    void should_stop_a_canary_that_fails_within_100_of_its_requests() {
        long most = 0;
        for (int seed = 0; seed < 100; seed++) {
            random = new Random(seed);
            steps = steps(POLICY);
            run(new Side(0.002, 10), new Side(0.2, 10), 100, Duration.ofMinutes(1));
            assertThat(steps.snapshot().reason()).contains("% of the requests to canary next failed, ");
            assertThat(steps.percent()).isZero();
            most = Math.max(most, steps.snapshot().requests());
        }
        assertThat(most).isLessThan(100);
    }

    @Test
    void should_stop_a_canary_that_is_slower() {
        for (int seed = 0; seed < 20; seed++) {
            random = new Random(seed);
            steps = steps(POLICY);
            run(new Side(0, 20), new Side(0, 80), 100, Duration.ofMinutes(1));
            assertThat(steps.snapshot().reason()).startsWith("its p99 is ").contains(", that of function shop ");
            assertThat(steps.snapshot().requests()).isLessThan(300);
        }
    }

    @Test
    void should_not_stop_if_both_sides_fail() {
        Side healthy = new Side(0, 10);
        Side sick = new Side(0.5, 500);
        run(healthy, healthy, 100, Duration.ofSeconds(30));
        run(sick, sick, 100, Duration.ofSeconds(20));
        run(healthy, healthy, 100, Duration.ofMinutes(3));
        assertThat(state()).isEqualTo(State.COMPLETE);
    }

    @Test
    void should_compare_all_requests_with_the_step_before() {
        Side healthy = new Side(0, 10);
        run(healthy, healthy, 100, Duration.ofSeconds(125));
        assertThat(steps.percent()).isEqualTo(100);
        run(healthy, new Side(0.1, 10), 100, Duration.ofSeconds(50));
        assertThat(state()).isEqualTo(State.STOPPED);
    }

    @Test
    void should_stop_a_canary_that_gets_all_requests_at_first() {
        steps = steps(new CanaryPolicy("next", List.of(100), Duration.ofMinutes(1)));
        run(new Side(0, 10), new Side(0.2, 10), 10, Duration.ofSeconds(50));
        assertThat(steps.snapshot().reason()).contains("% of the requests to canary next failed");
    }

    @Test
    void should_not_take_the_next_step_without_enough_requests() {
        Side side = new Side(0, 10);
        run(side, side, 1, Duration.ofMinutes(5));
        assertThat(steps.percent()).isEqualTo(10);
        run(side, side, 1, Duration.ofMinutes(10));
        assertThat(log).startsWith("50 CANARY");
    }

    @Test
    void should_count_a_request_in_the_step_in_which_it_began() {
        Side side = new Side(0, 10);
        Step first = steps.step();
        run(side, side, 100, Duration.ofSeconds(65));
        assertThat(steps.percent()).isEqualTo(50);
        for (int i = 0; i < 1000; i++) {
            steps.onResponse(first, true, true, 1, now);
        }
        assertThat(state()).isEqualTo(State.CANARY);
    }

    @Test
    void should_stop_and_resume_for_an_operator() {
        Side side = new Side(0, 10);
        run(side, side, 100, Duration.ofSeconds(65));
        assertThat(steps.resume(now)).isFalse();
        assertThat(steps.stop()).isTrue();
        assertThat(steps.stop()).isFalse();
        assertThat(steps.percent()).isZero();
        assertThat(steps.snapshot().reason()).isEqualTo("an operator has stopped it");
        assertThat(steps.resume(now)).isTrue();
        assertThat(steps.snapshot()).isEqualTo(new CanarySnapshot("shop", "next", State.CANARY, 10, 0, 0, ""));
        run(side, side, 100, Duration.ofMinutes(4));
        assertThat(steps.stop()).as("also after the last step").isTrue();
    }

    private void reload(Integer... percents) {
        steps.setPolicy(new CanaryPolicy("next", List.of(percents), Duration.ofMinutes(1)), now);
    }

    @Test
    void should_keep_its_share_when_the_policy_changes() {
        Side side = new Side(0, 10);
        run(side, side, 100, Duration.ofSeconds(65));
        log.clear();
        reload(1, 5, 20, 60);
        assertThat(steps.percent()).isEqualTo(50);
        run(side, side, 100, Duration.ofMinutes(3));
        assertThat(log).as("the next larger step").containsExactly("60 CANARY", "60 COMPLETE");
    }

    @Test
    void should_continue_with_larger_steps_after_the_last_one() {
        steps = steps(new CanaryPolicy("next", List.of(10), Duration.ofMinutes(1)));
        Side side = new Side(0, 10);
        run(side, side, 100, Duration.ofSeconds(65));
        reload(10);
        assertThat(log).containsExactly("10 COMPLETE");
        reload(10, 50, 100);
        run(side, side, 100, Duration.ofMinutes(3));
        assertThat(log).containsExactly("10 COMPLETE", "50 CANARY", "100 CANARY", "100 COMPLETE");
    }

    @Test
    void should_fall_to_the_last_step_when_all_are_smaller() {
        Side side = new Side(0, 10);
        run(side, side, 100, Duration.ofSeconds(65));
        reload(10, 20);
        assertThat(steps.percent()).isEqualTo(20);
        run(side, side, 100, Duration.ofSeconds(65));
        assertThat(log).containsExactly("50 CANARY", "20 CANARY", "20 COMPLETE");
        reload(5);
        assertThat(steps.percent()).as("also after the last step").isEqualTo(5);
        steps.stop();
        reload(10, 20);
        assertThat(steps.percent()).as("after a stop").isZero();
    }

    private String after(String text) {
        steps = steps(POLICY);
        log.clear();
        steps.restore(text);
        return String.join(", ", log);
    }

    @Test
    void should_continue_after_a_restart() {
        Side side = new Side(0, 10);
        run(side, side, 100, Duration.ofSeconds(65));
        assertThat(after(steps.text())).as("a watched step begins again").isEmpty();
        assertThat(steps.percent()).isEqualTo(10);
        run(side, side, 100, Duration.ofMinutes(4));
        String complete = steps.text();
        assertThat(after(complete)).isEqualTo("100 COMPLETE");
        steps.stop();
        assertThat(after(steps.text())).isEqualTo("an operator has stopped it");
        assertThat(steps.percent()).isZero();
        assertThat(steps.step()).isNull();
        for (String other : List.of("", "STOPPED", "STOPPED\tother\t0\tbad", "LATER\tnext\t5\t")) {
            assertThat(after(other)).as(other).isEmpty();
            assertThat(steps.percent()).isEqualTo(10);
        }
        steps = steps(new CanaryPolicy("next", List.of(10, 50), Duration.ofMinutes(1)));
        steps.restore(complete);
        assertThat(steps.percent()).as("more was watched than may be given now").isEqualTo(10);
    }

    @Test
    void should_know_quantiles_to_a_quarter() {
        CanaryResults results = new CanaryResults();
        for (int i = 1; i <= 1000; i++) {
            results.add(i % 10 == 0, TimeUnit.MICROSECONDS.toNanos(100L * i));
        }
        assertThat(results.quantileNanos(0.99) / 1e6).isBetween(99.0, 125.0);
        assertThat(results.quantileNanos(0.5) / 1e6).isBetween(50.0, 62.5);
        assertThat(results.slowerThan(TimeUnit.MILLISECONDS.toNanos(50))).isBetween(500L, 550L + 60);
        assertThat(results.failed()).isEqualTo(100);
        results.add(false, Long.MAX_VALUE);
        results.add(false, 0);
        assertThat(results.completed()).isEqualTo(1002);
    }
}
