package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.server.config.PolicyValueTypes.Concurrency;
import io.lambdadispatcher.server.config.PolicyValueTypes.Downstream;
import io.lambdadispatcher.server.config.PolicyValueTypes.MinWorkers;
import io.lambdadispatcher.server.config.PolicyValueTypes.RequestPriority;
import io.lambdadispatcher.server.config.PolicyValueTypes.Rollout;
import io.lambdadispatcher.server.config.PolicyValueTypes.Spillover;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of one function. Immutable.
 *
 * @param route matches the requests for this function
 * @param routes further routes of this function, with policies of their own
 * @param direct {@code null} = no direct requests
 * @param lambda the Lambda function that runs the workers
 * @param directLambda the Lambda function that direct requests invoke
 * @param handler the class that local workers run; {@code null} = none is set
 * @param secrets of the function's workers, the first of which signs; {@code null} = the common
 *     ones
 */
public record FunctionConfiguration(
        FunctionOptions options,
        Route route,
        List<RoutePolicy> routes,
        @Nullable DirectOptions direct,
        Launcher launcher,
        String lambda,
        String directLambda,
        @Nullable String handler,
        @Nullable List<byte[]> secrets) {

    /** How requests reach a function. */
    enum Mode {
        /** Through workers. */
        DISPATCH,
        /** Each as one direct request. */
        DIRECT
    }

    /** The launcher of a function's workers. */
    public enum Launcher {
        /** None: workers are started by others, and sign their own tokens. */
        EXTERNAL,
        /** The dispatcher launches workers as processes on its machine. */
        LOCAL,
        /** The dispatcher launches workers on AWS Lambda, each with one invocation. */
        LAMBDA
    }

    /** A route with a policy that replaces the function's. */
    public record RoutePolicy(Route route, TrafficPolicy policy) {}

    /** 512 MB are 0.29 of a vCPU, which serves 8 requests of 200 ms and 5 ms of CPU time. */
    private static final int MEGABYTES_PER_REQUEST = 64;

    /** The name of the function's own admission policy and breaker. */
    private static final String OF_FUNCTION = "default";

    /** @param routes the entries of {@code routes} for this function */
    static FunctionConfiguration of(SettingValues values, List<SettingValues> routes) {
        // If any route has a priority, all have, because their requests wait in one queue.
        boolean priorities = hasPriorities(values) || routes.stream().anyMatch(FunctionConfiguration::hasPriorities);
        Concurrency concurrency = concurrency(values);
        FunctionOptions options = FunctionOptions.builder(values.get(FunctionSettings.FUNCTION_NAME))
                .capacity(capacity(values))
                .launching(launching(values))
                .connectionsPerWorker(concurrency.connections())
                .streamsPerConnection(concurrency.streams())
                .queue(
                        values.get(FunctionSettings.FUNCTION_MAX_QUEUED_REQUESTS),
                        values.get(FunctionSettings.FUNCTION_QUEUE_TIMEOUT))
                .workerTimeout(values.get(FunctionSettings.FUNCTION_WORKER_TIMEOUT))
                .traffic(traffic(values, OF_FUNCTION, OF_FUNCTION, priorities))
                .slowStart(values.get(FunctionSettings.FUNCTION_SLOW_START))
                .retryBudget(values.get(FunctionSettings.FUNCTION_RETRY_BUDGET) / 100.0)
                .build();
        return new FunctionConfiguration(
                options,
                route(values),
                routes.stream()
                        .map(each -> new RoutePolicy(
                                route(each),
                                traffic(each, admissionName(values, each), nameOf(route(each)), priorities)))
                        .toList(),
                direct(values),
                values.get(FunctionSettings.FUNCTION_LAUNCHER),
                lambda(values),
                directLambda(values),
                values.find(FunctionSettings.FUNCTION_HANDLER),
                values.find(FunctionSettings.FUNCTION_SECRET));
    }

    /** Auto suits a worker of this memory, to which Lambda's share of a CPU is in proportion. */
    static Concurrency concurrency(SettingValues values) {
        Concurrency set =
                values.get(FunctionSettings.FUNCTION_WORKER_CONCURRENCY).orElse(null);
        if (set != null) {
            return set;
        }
        if (values.get(FunctionSettings.FUNCTION_LAUNCHER) != Launcher.LAMBDA) {
            return new Concurrency(1, 100);
        }
        int megabytes = values.get(FunctionSettings.FUNCTION_WORKER_MEMORY);
        return new Concurrency(1, Math.min(Math.max(1, megabytes / MEGABYTES_PER_REQUEST), 1000));
    }

    static Route route(SettingValues values) {
        return Route.of(
                values.find(FunctionSettings.FUNCTION_HOST),
                values.find(FunctionSettings.FUNCTION_HEADER),
                values.get(FunctionSettings.FUNCTION_PATH),
                values.get(FunctionSettings.FUNCTION_WEIGHT));
    }

    private static TrafficPolicy traffic(
            SettingValues values, String admissionName, String breakerName, boolean priorities) {
        DeadlinePolicy.Builder deadline =
                DeadlinePolicy.builder().limit(values.get(FunctionSettings.FUNCTION_REQUEST_TIMEOUT));
        values.get(FunctionSettings.FUNCTION_REQUEST_TIMEOUT_HEADERS).forEach(deadline::header);
        HedgeDelay hedge = values.get(FunctionSettings.FUNCTION_HEDGE_AFTER);
        AttemptPolicy attempts = AttemptPolicy.builder()
                .maxAttempts(values.get(FunctionSettings.FUNCTION_MAX_ATTEMPTS))
                .retryOn(values.get(FunctionSettings.FUNCTION_RETRY_ON))
                .perTryTimeout(values.get(FunctionSettings.FUNCTION_PER_TRY_TIMEOUT))
                .hedgeAfter(hedge.delay())
                .hedgeAfterQuantile(hedge.percentile() / 100.0)
                .build();
        TrafficPolicy.Builder traffic = TrafficPolicy.builder()
                .admission(admission(values, admissionName, priorities))
                .deadline(deadline.build())
                .attempts(attempts)
                .affinity(values.get(FunctionSettings.FUNCTION_AFFINITY))
                .breaker(breaker(values, breakerName));
        values.table().filters().settings().forEach(each -> each.addTo(traffic, values));
        return traffic.build();
    }

    private static BreakerPolicy breaker(SettingValues values, String name) {
        BreakerPolicy.Builder policy = BreakerPolicy.builder(name);
        values.get(FunctionSettings.FUNCTION_CIRCUIT_BREAKER)
                .ifPresent(breaker -> policy.errors(breaker.errorPercent() / 100.0)
                        .latency(breaker.slow())
                        .open(breaker.open()));
        return policy.build();
    }

    private static String admissionName(SettingValues function, SettingValues values) {
        boolean same = FunctionSettings.LIMITS.stream().allMatch(limit -> values.hasSame(limit, function));
        return same ? OF_FUNCTION : nameOf(route(values));
    }

    /**
     * Returns the name of a route's admission policy and breaker, which clients see. It shows no
     * header, which clients need not know.
     */
    private static String nameOf(Route route) {
        String host = route.host() == null ? "" : route.host();
        String header = route.header() == null
                ? ""
                : " " + Integer.toHexString(route.header().hashCode());
        String name = host + (route.path().isEmpty() ? "/" : route.path()) + header;
        return name.substring(0, Math.min(name.length(), 256)).replaceAll("[\"\\\\]", "_");
    }

    private static boolean hasPriorities(SettingValues values) {
        RequestPriority priority = values.get(FunctionSettings.FUNCTION_PRIORITY);
        return priority.priority() != Priority.NORMAL || priority.header() != null;
    }

    private static AdmissionPolicy admission(SettingValues values, String name, boolean priorities) {
        AdmissionPolicy.Builder policy = AdmissionPolicy.builder(name)
                .maxConcurrentRequests(values.get(FunctionSettings.FUNCTION_MAX_CONCURRENT_REQUESTS))
                .maxQueueDelay(values.get(FunctionSettings.FUNCTION_MAX_QUEUE_DELAY));
        RequestPriority priority = values.get(FunctionSettings.FUNCTION_PRIORITY);
        if (priorities) {
            policy.priority(priority.priority());
        }
        if (priority.header() != null) {
            policy.priorityHeader(priority.header());
        }
        values.get(FunctionSettings.FUNCTION_RATE_LIMIT).ifPresent(policy::rateLimit);
        values.get(FunctionSettings.FUNCTION_TENANT_HEADER)
                .ifPresent(tenants -> policy.tenants(tenants.header(), tenants.maxRequests()));
        return policy.build();
    }

    private static @Nullable DirectOptions direct(SettingValues values) {
        DirectOptions.Builder options = DirectOptions.builder(values.get(FunctionSettings.FUNCTION_EVENT_FORMAT))
                .maxConcurrentInvocations(values.get(FunctionSettings.FUNCTION_MAX_CONCURRENT_INVOCATIONS));
        if (values.get(FunctionSettings.FUNCTION_MODE) == Mode.DIRECT) {
            return options.build();
        }
        return values.get(FunctionSettings.FUNCTION_SPILLOVER)
                .map(spillover -> options.spilloverAfter(spillover.after()).build())
                .orElse(null);
    }

    private static String lambda(SettingValues values) {
        String named = values.find(FunctionSettings.FUNCTION_LAMBDA);
        return named == null ? values.get(FunctionSettings.FUNCTION_NAME) : named;
    }

    private static String directLambda(SettingValues values) {
        return values.get(FunctionSettings.FUNCTION_SPILLOVER)
                .map(Spillover::lambda)
                .orElseGet(() -> lambda(values));
    }

    private static CapacityPolicy capacity(SettingValues values) {
        MinWorkers min = values.get(FunctionSettings.FUNCTION_MIN_WORKERS);
        // FunctionChecks reports a maximum below the minimum.
        int max = Math.max(min.largest(), values.get(FunctionSettings.FUNCTION_MAX_WORKERS));
        Downstream downstream = values.get(FunctionSettings.FUNCTION_DOWNSTREAM_CONNECTIONS);
        int connections = downstream.connections();
        // FunctionChecks reports a number that is not enough.
        boolean divisible = max > 0 && connections >= DownstreamBudget.least(downstream.perWorker(), min.largest());
        return CapacityPolicy.builder()
                .workers(min.always(), max)
                .schedule(min.schedule())
                .minSpareWorkers(values.get(FunctionSettings.FUNCTION_MIN_SPARE_WORKERS))
                .targetUtilization(values.get(FunctionSettings.FUNCTION_TARGET_UTILIZATION) / 100.0)
                .idleTimeout(values.get(FunctionSettings.FUNCTION_IDLE_TIMEOUT))
                .scaleDownDelay(values.get(FunctionSettings.FUNCTION_SCALE_DOWN_DELAY))
                .prewarmedEnvironments(values.get(FunctionSettings.FUNCTION_PREWARMED_ENVIRONMENTS))
                .maxWorkerAge(values.get(FunctionSettings.FUNCTION_MAX_WORKER_AGE))
                .downstreamConnections(divisible ? connections : 0, downstream.perWorker())
                .build();
    }

    private static LaunchLimits launching(SettingValues values) {
        Rollout rollout = values.get(FunctionSettings.FUNCTION_ROLLOUT);
        return LaunchLimits.builder()
                .launchesPerMinute(values.get(FunctionSettings.FUNCTION_LAUNCHES_PER_MINUTE))
                .gbSecondsPerHour(values.get(FunctionSettings.FUNCTION_SPENDING_LIMIT))
                .workerMegabytes(values.get(FunctionSettings.FUNCTION_WORKER_MEMORY))
                .launchTimeout(values.get(FunctionSettings.FUNCTION_LAUNCH_TIMEOUT))
                .versionCheck(rollout.poll())
                .rollout(rollout.policy())
                .build();
    }
}
