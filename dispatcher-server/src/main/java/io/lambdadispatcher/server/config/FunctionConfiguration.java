package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.FunctionOptions;
import org.jspecify.annotations.Nullable;

/**
 * One function as configured. Immutable.
 *
 * @param path requests below it are for this function
 * @param handler class that local workers run; {@code null} = not needed
 */
public record FunctionConfiguration(
        FunctionOptions options,
        String path,
        LauncherKind launcher,
        @Nullable String handler) {

    static FunctionConfiguration of(EffectiveValues values) {
        FunctionOptions options = new FunctionOptions(
                values.get(Settings.FUNCTION_NAME),
                values.get(Settings.FUNCTION_WORKERS),
                values.get(Settings.FUNCTION_CONNECTIONS),
                values.get(Settings.FUNCTION_STREAMS),
                values.get(Settings.FUNCTION_PENDING_LIMIT),
                values.get(Settings.FUNCTION_PENDING_TIMEOUT),
                values.get(Settings.FUNCTION_REQUEST_TIMEOUT));
        return new FunctionConfiguration(
                options,
                values.get(Settings.FUNCTION_PATH),
                values.get(Settings.FUNCTION_LAUNCHER),
                values.find(Settings.FUNCTION_HANDLER));
    }
}
