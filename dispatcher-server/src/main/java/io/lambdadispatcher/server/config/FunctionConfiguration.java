package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of one function. Immutable.
 *
 * @param route matches the requests for this function
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
        /** None: workers launch themselves, and sign their own tokens. */
        SELF,
        /** The dispatcher launches workers as processes on its machine. */
        LOCAL,
        /** The dispatcher launches workers on AWS Lambda, each with one invocation. */
        LAMBDA
    }

    static FunctionConfiguration of(SettingValues values) {
        FunctionOptions options = FunctionOptions.builder(values.get(Settings.FUNCTION_NAME))
                .capacity(capacity(values))
                .launching(launching(values))
                .connectionsPerWorker(values.get(Settings.FUNCTION_CONNECTIONS))
                .streamsPerConnection(values.get(Settings.FUNCTION_STREAMS))
                .queue(values.get(Settings.FUNCTION_QUEUE_LIMIT), values.get(Settings.FUNCTION_QUEUE_TIMEOUT))
                .requestTimeout(values.get(Settings.FUNCTION_REQUEST_TIMEOUT))
                .build();
        return new FunctionConfiguration(
                options,
                route(values),
                direct(values),
                values.get(Settings.FUNCTION_LAUNCHER),
                lambda(values),
                directLambda(values),
                values.find(Settings.FUNCTION_HANDLER),
                values.find(Settings.FUNCTION_SECRET, Settings.FUNCTION_SECRET_FILE));
    }

    static Route route(SettingValues values) {
        return Route.of(
                values.find(Settings.FUNCTION_HOST),
                values.find(Settings.FUNCTION_HEADER),
                values.get(Settings.FUNCTION_PATH),
                values.get(Settings.FUNCTION_WEIGHT));
    }

    private static @Nullable DirectOptions direct(SettingValues values) {
        DirectOptions.Builder options = DirectOptions.builder(values.get(Settings.FUNCTION_EVENT_FORMAT))
                .maxConcurrent(values.get(Settings.FUNCTION_DIRECT_LIMIT));
        if (values.get(Settings.FUNCTION_MODE) == Mode.DIRECT) {
            return options.build();
        }
        return values.get(Settings.FUNCTION_DIRECT_OVERFLOW)
                ? options.overflowAfter(values.get(Settings.FUNCTION_DIRECT_OVERFLOW_AFTER))
                        .build()
                : null;
    }

    private static String lambda(SettingValues values) {
        String named = values.find(Settings.FUNCTION_LAMBDA);
        return named == null ? values.get(Settings.FUNCTION_NAME) : named;
    }

    private static String directLambda(SettingValues values) {
        String named = values.find(Settings.FUNCTION_DIRECT_LAMBDA);
        return named == null ? lambda(values) : named;
    }

    private static CapacityPolicy capacity(SettingValues values) {
        int min = values.get(Settings.FUNCTION_MIN_WORKERS);
        // ConfigurationChecks reports a maximum below the minimum.
        int max = Math.max(min, values.get(Settings.FUNCTION_MAX_WORKERS));
        return CapacityPolicy.builder()
                .workers(min, max)
                .warmWorkers(values.get(Settings.FUNCTION_WARM_WORKERS))
                .headroom(values.get(Settings.FUNCTION_HEADROOM) / 100.0)
                .idleAfter(values.get(Settings.FUNCTION_IDLE_AFTER))
                .scaleInAfter(values.get(Settings.FUNCTION_SCALE_IN_AFTER))
                .warmEnvironments(values.get(Settings.FUNCTION_WARM_ENVIRONMENTS))
                .maxWorkerAge(values.get(Settings.FUNCTION_MAX_WORKER_AGE))
                .build();
    }

    private static LaunchLimits launching(SettingValues values) {
        return LaunchLimits.builder()
                .launchesPerMinute(values.get(Settings.FUNCTION_LAUNCHES_PER_MINUTE))
                .gbSecondsPerHour(values.get(Settings.FUNCTION_SPENDING_LIMIT))
                .workerMegabytes(values.get(Settings.FUNCTION_WORKER_MEMORY))
                .launchTimeout(values.get(Settings.FUNCTION_LAUNCH_TIMEOUT))
                .versionCheck(values.get(Settings.FUNCTION_VERSION_CHECK))
                .canary(values.get(Settings.FUNCTION_CANARY_SHARE) / 100.0, values.get(Settings.FUNCTION_CANARY_TIME))
                .build();
    }
}
