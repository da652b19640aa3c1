package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.CapacityPolicy;
import io.lambdadispatcher.core.FunctionOptions;
import io.lambdadispatcher.core.LaunchLimits;
import org.jspecify.annotations.Nullable;

/**
 * One function as configured. Immutable.
 *
 * @param path requests below it are for this function
 * @param lambda the Lambda function of the launcher lambda
 * @param handler class that local workers run; {@code null} = not needed
 */
public record FunctionConfiguration(
        FunctionOptions options,
        String path,
        LauncherKind launcher,
        String lambda,
        @Nullable String handler) {

    static FunctionConfiguration of(EffectiveValues values) {
        FunctionOptions options = new FunctionOptions(
                values.get(Settings.FUNCTION_NAME),
                capacity(values),
                launching(values),
                values.get(Settings.FUNCTION_CONNECTIONS),
                values.get(Settings.FUNCTION_STREAMS),
                values.get(Settings.FUNCTION_PENDING_LIMIT),
                values.get(Settings.FUNCTION_PENDING_TIMEOUT),
                values.get(Settings.FUNCTION_REQUEST_TIMEOUT));
        return new FunctionConfiguration(
                options,
                values.get(Settings.FUNCTION_PATH),
                values.get(Settings.FUNCTION_LAUNCHER),
                lambda(values),
                values.find(Settings.FUNCTION_HANDLER));
    }

    private static String lambda(EffectiveValues values) {
        String named = values.find(Settings.FUNCTION_LAMBDA);
        return named == null ? values.get(Settings.FUNCTION_NAME) : named;
    }

    private static CapacityPolicy capacity(EffectiveValues values) {
        int min = values.get(Settings.FUNCTION_MIN_WORKERS);
        return new CapacityPolicy(
                min,
                // Too low a maximum is among the problems that ConfigurationChecks lists.
                Math.max(min, values.get(Settings.FUNCTION_MAX_WORKERS)),
                values.get(Settings.FUNCTION_WARM_WORKERS),
                values.get(Settings.FUNCTION_HEAD_ROOM) / 100.0,
                values.get(Settings.FUNCTION_IDLE_AFTER),
                values.get(Settings.FUNCTION_SCALE_IN_AFTER),
                values.get(Settings.FUNCTION_WARM_ENVIRONMENTS),
                values.get(Settings.FUNCTION_MAX_WORKER_LIFE));
    }

    private static LaunchLimits launching(EffectiveValues values) {
        return new LaunchLimits(
                values.get(Settings.FUNCTION_LAUNCHES_PER_MINUTE),
                values.get(Settings.FUNCTION_SPENDING_LIMIT),
                values.get(Settings.FUNCTION_WORKER_MEMORY),
                values.get(Settings.FUNCTION_NO_SHOW_AFTER));
    }
}
