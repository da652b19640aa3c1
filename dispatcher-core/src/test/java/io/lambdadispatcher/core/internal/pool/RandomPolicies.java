package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.TrafficPolicy;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/** Random options and policies of a function. */
final class RandomPolicies {
    private static final String ADMISSION = "limited";
    private static final String TENANT = "x-tenant";

    private final PoolWorld world;

    RandomPolicies(PoolWorld world) {
        this.world = world;
    }

    FunctionOptions options() {
        return FunctionOptions.builder("f")
                .queue(world.one(0, 2, 10, 100, 100, 100), world.one(millis(300), millis(2_000)))
                .workerTimeout(world.one(Duration.ZERO, millis(1_000), millis(900_000)))
                .retryBudget(world.one(0, 1, 1, 1, 1, 1))
                .slowStart(world.one(Duration.ZERO, millis(1_000)))
                .traffic(TrafficPolicy.builder()
                        .attempts(attempts())
                        .deadline(DeadlinePolicy.builder()
                                .limit(world.one(Duration.ZERO, Duration.ZERO, millis(500)))
                                .header("x-deadline")
                                .build())
                        .affinity(world.one(
                                Affinity.NONE,
                                Affinity.NONE,
                                Affinity.header("x-session"),
                                Affinity.sessionHeader("x-session")))
                        .admission(world.oneIn(3) ? admission() : AdmissionPolicy.NONE)
                        .build())
                .build();
    }

    /** Returns options with which each request is served, if no other one is left. */
    FunctionOptions calm() {
        return FunctionOptions.builder("f")
                .queue(10, Duration.ofSeconds(2))
                .traffic(TrafficPolicy.builder()
                        .admission(AdmissionPolicy.builder(ADMISSION)
                                .maxConcurrentRequests(1)
                                .tenants(TENANT, 1)
                                .build())
                        .build())
                .build();
    }

    private static Duration millis(int millis) {
        return Duration.ofMillis(millis);
    }

    private AttemptPolicy attempts() {
        if (world.oneIn(4)) {
            return AttemptPolicy.builder().build();
        }
        Set<RetryCondition> conditions = EnumSet.allOf(RetryCondition.class);
        conditions.removeIf(condition -> world.oneIn(3));
        boolean timed = conditions.contains(RetryCondition.TIMEOUT);
        return AttemptPolicy.builder()
                .maxAttempts(world.one(1, 2, 3, 3))
                .retryOn(conditions)
                .perTryTimeout(timed ? world.one(Duration.ZERO, millis(50), millis(300)) : Duration.ZERO)
                .hedgeAfter(world.one(Duration.ZERO, millis(5), millis(20)))
                .build();
    }

    private AdmissionPolicy admission() {
        AdmissionPolicy.Builder builder = AdmissionPolicy.builder(ADMISSION)
                .maxConcurrentRequests(world.one(0, 3))
                .tenants(TENANT, world.one(0, 2));
        if (world.oneIn(2)) {
            builder.rateLimit(
                    RateLimit.of(world.one(5, 50), Duration.ofMinutes(10)).perRoute());
        }
        if (world.oneIn(2)) {
            builder.priority(Priority.NORMAL).priorityHeader("x-priority");
        }
        return builder.build();
    }
}
