package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.pool.TrafficSimulation.Behaviour;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What policies do for 60,000 requests at 200 requests/s, as long as the published incident. */
class TrafficSimulationTest {
    private static final int REQUESTS = 60_000;
    private static final double PER_SECOND = 200;
    private static final int WORKERS = 9;
    private static final int STREAMS = 20;

    private static final Http2Headers GET = new DefaultHttp2Headers()
            .method("GET")
            .scheme("http")
            .authority("a")
            .path("/");
    private static final Http2Headers POST = new DefaultHttp2Headers()
            .method("POST")
            .scheme("http")
            .authority("a")
            .path("/");

    /** A handler with 4 ms of work and a tail: median 8 ms, 99th percentile 27 ms. */
    private static long healthyNanos(Random random) {
        return TimeUnit.MILLISECONDS.toNanos(4) + (long) (-Math.log(1 - random.nextDouble()) * 5e6);
    }

    private static final Behaviour HEALTHY = TrafficSimulationTest::healthyNanos;

    /** One request in 326 hangs. */
    private static final Behaviour HANGING =
            random -> random.nextInt(326) == 0 ? TrafficSimulation.HANG : healthyNanos(random);

    private static final Behaviour SLOW = random -> 50 * healthyNanos(random);

    private static final Behaviour BROKEN = new Behaviour() {
        @Override
        public long serviceNanos(Random random) {
            return TimeUnit.MILLISECONDS.toNanos(1);
        }

        @Override
        public int status() {
            return 503;
        }
    };

    private static AttemptPolicy.Builder patient() {
        return AttemptPolicy.builder()
                .maxAttempts(3)
                .retryOn(EnumSet.of(
                        RetryCondition.REFUSED, RetryCondition.LOST, RetryCondition.TIMEOUT, RetryCondition.STATUS_503))
                .perTryTimeout(Duration.ofMillis(500));
    }

    private static TrafficPolicy of(AttemptPolicy.Builder attempts) {
        return TrafficPolicy.builder().attempts(attempts.build()).build();
    }

    private static FunctionOptions.Builder function(TrafficPolicy policy) {
        return FunctionOptions.builder("f")
                .workerTimeout(Duration.ofSeconds(10))
                .traffic(policy);
    }

    private static TrafficSimulation simulation(TrafficPolicy policy, Behaviour... behaviours) {
        TrafficSimulation simulation = new TrafficSimulation(function(policy).build(), STREAMS);
        for (int i = 0; i < WORKERS; i++) {
            simulation.addWorker(behaviours[i % behaviours.length]);
        }
        return simulation;
    }

    private static void assertAllAnswered(TrafficSimulation simulation) {
        assertThat(simulation.outcomes).as(simulation.toString()).containsOnlyKeys("200");
        assertThat(simulation.outcomes.get("200")).isEqualTo(REQUESTS);
    }

    private static void assertFewExtras(TrafficSimulation simulation) {
        assertThat(simulation.extraAttempts()).as(simulation.toString()).isBetween(1, REQUESTS / 50);
    }

    @Test
    void should_lose_requests_of_hanging_handlers_without_a_policy() {
        TrafficSimulation simulation = simulation(TrafficPolicy.NEUTRAL, HANGING);
        simulation.run(REQUESTS, PER_SECOND, GET);
        // 184 are published.
        assertThat(simulation.outcomes.get("timeout")).isBetween(140, 230);
        assertThat(simulation.extraAttempts()).isZero();
    }

    @Test
    void should_answer_all_requests_of_hanging_handlers_with_an_attempt_timeout() {
        TrafficSimulation simulation = simulation(of(patient()), HANGING);
        simulation.run(REQUESTS, PER_SECOND, GET);
        assertAllAnswered(simulation);
        assertFewExtras(simulation);
        assertThat(simulation.extras).containsOnlyKeys(ExtraAttempt.TIMEOUT);
    }

    @Test
    void should_answer_all_requests_of_hanging_handlers_quickly_with_hedges() {
        TrafficSimulation simulation = simulation(of(patient().hedgeAfterQuantile(0.99)), HANGING);
        simulation.run(REQUESTS, PER_SECOND, GET);
        assertAllAnswered(simulation);
        assertFewExtras(simulation);
        assertThat(simulation.quantileMillis(0.999)).as(simulation.toString()).isLessThan(100);
    }

    @Test
    void should_wait_for_handlers_of_requests_that_cannot_be_repeated() {
        TrafficSimulation simulation = simulation(of(patient().hedgeAfterQuantile(0.95)), HANGING);
        simulation.run(REQUESTS, PER_SECOND, POST);
        assertThat(simulation.outcomes.get("timeout")).isBetween(140, 230);
        assertThat(simulation.extraAttempts()).isZero();
    }

    @Test
    void should_lose_nothing_if_a_worker_is_killed_every_ten_seconds() {
        TrafficSimulation simulation = simulation(of(patient()), HANGING);
        for (int i = 0; i < 29; i++) {
            int victim = i;
            simulation.at(10 * (i + 1), () -> simulation.worker(victim).kill());
            simulation.at(10 * (i + 1) + 2, () -> simulation.addWorker(HANGING));
        }
        simulation.run(REQUESTS, PER_SECOND, GET);
        assertAllAnswered(simulation);
        assertFewExtras(simulation);
        assertThat(simulation.extras).containsKeys(ExtraAttempt.LOST, ExtraAttempt.TIMEOUT);
    }

    @Test
    void should_hide_a_worker_of_fifty_times_the_latency() {
        TrafficSimulation healthy = simulation(TrafficPolicy.NEUTRAL, HEALTHY);
        healthy.run(REQUESTS, PER_SECOND, GET);
        TrafficSimulation hedged = simulation(
                of(patient().hedgeAfterQuantile(0.99)),
                SLOW,
                HEALTHY,
                HEALTHY,
                HEALTHY,
                HEALTHY,
                HEALTHY,
                HEALTHY,
                HEALTHY,
                HEALTHY);
        hedged.run(REQUESTS, PER_SECOND, GET);
        assertAllAnswered(hedged);
        assertFewExtras(hedged);
        assertThat(hedged.quantileMillis(0.99))
                .as("healthy: %s, hedged: %s", healthy, hedged)
                .isLessThan(2 * healthy.quantileMillis(0.99));
    }

    /** After a minute, each third worker answers 503. Outlier detection ejects it after 2 s. */
    @Test
    void should_hide_a_third_of_workers_that_answer_503() {
        boolean[] broken = new boolean[1];
        Behaviour breaking = new Behaviour() {
            @Override
            public long serviceNanos(Random random) {
                return broken[0] ? BROKEN.serviceNanos(random) : healthyNanos(random);
            }

            @Override
            public int status() {
                return broken[0] ? 503 : 200;
            }
        };
        TrafficSimulation simulation = simulation(of(patient().maxAttempts(4)), breaking, HEALTHY, HEALTHY);
        simulation.at(60, () -> broken[0] = true);
        for (int i = 0; i < WORKERS; i += 3) {
            int ejected = i;
            simulation.at(62, () -> simulation.worker(ejected).eject());
        }
        simulation.run(REQUESTS, PER_SECOND, GET);
        assertAllAnswered(simulation);
        assertFewExtras(simulation);
        assertThat(simulation.extras).containsOnlyKeys(ExtraAttempt.STATUS);
    }

    /** All workers are slow at once: hedges must not double their load. */
    @Test
    void should_keep_hedges_within_the_budget_if_all_workers_slow_down() {
        TrafficSimulation simulation = simulation(of(patient().hedgeAfter(Duration.ofMillis(1))), HEALTHY);
        simulation.run(REQUESTS, PER_SECOND, GET);
        assertAllAnswered(simulation);
        assertThat(simulation.extras.get(ExtraAttempt.HEDGE)).isBetween(REQUESTS / 20, REQUESTS / 10 + 100);
    }

    @Test
    void should_send_nothing_twice_while_requests_are_queued() {
        TrafficSimulation simulation = new TrafficSimulation(
                function(of(patient().hedgeAfter(Duration.ofMillis(1)))).build(), 1);
        simulation.addWorker(HEALTHY);
        simulation.addWorker(HEALTHY);
        // Two streams serve 220 requests/s.
        simulation.run(10_000, 400, GET);
        assertThat(simulation.extraAttempts()).as(simulation.toString()).isLessThan(10);
    }

    /** At twice the capacity, three quarters of what workers do must be in time. */
    @Test
    void should_serve_requests_in_time_under_overload_if_they_have_a_deadline() {
        Behaviour exponential = random -> (long) (-Math.log(1 - random.nextDouble()) * 20e6);
        TrafficPolicy deadline = TrafficPolicy.builder()
                .deadline(DeadlinePolicy.builder().limit(Duration.ofMillis(300)).build())
                .build();
        TrafficSimulation simulation = new TrafficSimulation(function(deadline).build(), 1);
        for (int i = 0; i < 4; i++) {
            simulation.addWorker(exponential);
        }
        simulation.run(20_000, 400, GET);
        int inTime = simulation.outcomes.get("200");
        assertThat(inTime).as(simulation.toString()).isGreaterThan(simulation.served * 9 / 10);
        assertThat(inTime).as(simulation.toString()).isGreaterThan(20_000 * 4 / 10);
        assertThat(simulation.outcomes).containsOnlyKeys("200", "deadline_exceeded");
    }
}
