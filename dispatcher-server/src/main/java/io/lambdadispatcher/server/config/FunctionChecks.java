package io.lambdadispatcher.server.config;

import io.lambdadispatcher.aws.FunctionName;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.FunctionConfiguration.Mode;
import io.lambdadispatcher.server.config.PolicyValueTypes.Downstream;
import io.lambdadispatcher.server.config.PolicyValueTypes.Spillover;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Rules between the settings of one function, or of one of its routes. */
final class FunctionChecks extends Checks {
    /** One entry of the fleet's ledger names all workers of a function. */
    private static final int MOST_WORKERS_IN_FLEET = 1800;

    private static final List<Setting<?>> ROUTE =
            List.of(FunctionSettings.FUNCTION_PATH, FunctionSettings.FUNCTION_HOST, FunctionSettings.FUNCTION_HEADER);

    FunctionChecks(SettingValues dispatcher, SettingValues checked, boolean complete, Consumer<String> problems) {
        super(dispatcher, checked, complete, problems);
    }

    /**
     * Checks the settings of filters.
     *
     * @param function the function of this route; {@code null} = this is a function itself. What
     *     the route has from it is not reported again
     */
    void checkExtensions(Map<String, SettingValues> names, @Nullable SettingValues function) {
        if (complete) {
            checked.table().filters().settings().stream()
                    .filter(each -> function == null || !function.hasSame(each.setting(), checked))
                    .forEach(each -> {
                        String expected = each.check(checked, names.keySet());
                        if (expected != null) {
                            require(false, each.setting(), expected, each.setting(), FunctionSettings.FUNCTION_NAME);
                        }
                    });
        }
    }

    void checkNameAndRoute(Map<String, SettingValues> names, Map<Route, SettingValues> routes) {
        if (!checked.isInvalid(FunctionSettings.FUNCTION_NAME)) {
            SettingValues namesake = names.putIfAbsent(checked.get(FunctionSettings.FUNCTION_NAME), checked);
            if (namesake != null) {
                String expected = "a name other than that in " + namesake.source(FunctionSettings.FUNCTION_NAME);
                require(false, FunctionSettings.FUNCTION_NAME, expected);
                // They are one function by mistake, perhaps with one route.
                return;
            }
        }
        checkRoute(routes);
    }

    void checkRoute(Map<Route, SettingValues> routes) {
        if (ROUTE.stream().anyMatch(checked::isInvalid)) {
            return;
        }
        SettingValues other =
                routes.putIfAbsent(FunctionConfiguration.route(checked).withoutWeight(), checked);
        if (other != null) {
            // Two functions with one route are an error, unless both have weights.
            boolean ofOne =
                    checked.get(FunctionSettings.FUNCTION_NAME).equals(other.get(FunctionSettings.FUNCTION_NAME));
            boolean weighted = !ofOne
                    && !checked.isDefault(FunctionSettings.FUNCTION_WEIGHT)
                    && !other.isDefault(FunctionSettings.FUNCTION_WEIGHT);
            String expected = "a path, host or header other than those of "
                    + (other.owner().isEmpty() ? "the function" : other.owner())
                    + (ofOne ? "" : ", or a weight for both");
            // If a name may be misspelt, it may be a part of the route.
            boolean routed = complete || !checked.isDefault(FunctionSettings.FUNCTION_PATH);
            require(weighted || !routed, FunctionSettings.FUNCTION_PATH, expected);
        }
    }

    void checkTraffic() {
        checkAdmission();
        boolean retries = checked.get(FunctionSettings.FUNCTION_RETRY_ON).contains(RetryCondition.TIMEOUT);
        require(
                retries
                        || checked.get(FunctionSettings.FUNCTION_PER_TRY_TIMEOUT)
                                .isZero(),
                FunctionSettings.FUNCTION_PER_TRY_TIMEOUT,
                "off, or function.retry-on to contain timeout",
                FunctionSettings.FUNCTION_RETRY_ON,
                FunctionSettings.FUNCTION_PER_TRY_TIMEOUT);
    }

    private void checkAdmission() {
        require(
                checked.get(FunctionSettings.FUNCTION_MAX_QUEUE_DELAY).compareTo(AdmissionPolicy.MAX_QUEUE_DELAY) <= 0,
                FunctionSettings.FUNCTION_MAX_QUEUE_DELAY,
                "at most 1h",
                FunctionSettings.FUNCTION_MAX_QUEUE_DELAY);
    }

    void checkFunction() {
        checkTraffic();
        int maxWorkers = checked.get(FunctionSettings.FUNCTION_MAX_WORKERS);
        boolean inOrder = checked.get(FunctionSettings.FUNCTION_MIN_WORKERS).largest() <= maxWorkers;
        require(
                inOrder,
                FunctionSettings.FUNCTION_MAX_WORKERS,
                "at least function.min-workers",
                FunctionSettings.FUNCTION_MAX_WORKERS,
                FunctionSettings.FUNCTION_MIN_WORKERS);
        require(
                !dispatcher.isSet(Settings.FLEET_TABLE) || maxWorkers <= MOST_WORKERS_IN_FLEET,
                FunctionSettings.FUNCTION_MAX_WORKERS,
                "at most " + MOST_WORKERS_IN_FLEET + " in a fleet (fleet.table)",
                FunctionSettings.FUNCTION_MAX_WORKERS,
                Settings.FLEET_TABLE);
        checkDownstream(maxWorkers);
        if (checked.isInvalid(FunctionSettings.FUNCTION_MODE)
                || checked.isInvalid(FunctionSettings.FUNCTION_LAUNCHER)) {
            return;
        }
        if (checked.get(FunctionSettings.FUNCTION_MODE) == Mode.DIRECT) {
            checkDirect(maxWorkers);
            return;
        }
        checked.get(FunctionSettings.FUNCTION_SPILLOVER).ifPresent(this::checkSpillover);
        switch (checked.get(FunctionSettings.FUNCTION_LAUNCHER)) {
            case LOCAL -> checkLocal(maxWorkers);
            case LAMBDA -> checkLambda(maxWorkers);
            case EXTERNAL -> checkExternal(maxWorkers);
        }
    }

    private void checkDownstream(int maxWorkers) {
        Downstream downstream = checked.get(FunctionSettings.FUNCTION_DOWNSTREAM_CONNECTIONS);
        int perWorker = downstream.perWorker();
        if (downstream.connections() == 0) {
            return;
        }
        require(
                maxWorkers > 0,
                FunctionSettings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                "off, because no workers are launched (function.max-workers is 0), so nothing limits their number",
                FunctionSettings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                FunctionSettings.FUNCTION_MAX_WORKERS);
        int workers =
                Math.max(1, checked.get(FunctionSettings.FUNCTION_MIN_WORKERS).largest());
        long least = DownstreamBudget.least(perWorker, workers);
        require(
                downstream.connections() >= least,
                FunctionSettings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                "at least " + least + ": " + perWorker + " (per-worker) for each of "
                        + workers + " workers (function.min-workers) and of " + (least / perWorker - workers)
                        + " that replace others",
                FunctionSettings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                FunctionSettings.FUNCTION_MIN_WORKERS);
    }

    private void checkDirect(int maxWorkers) {
        String noWorkers = ", because a function in mode direct has no workers";
        require(
                maxWorkers == 0,
                FunctionSettings.FUNCTION_MAX_WORKERS,
                "0" + noWorkers,
                FunctionSettings.FUNCTION_MAX_WORKERS);
        boolean self = checked.get(FunctionSettings.FUNCTION_LAUNCHER) == Launcher.EXTERNAL;
        require(self, FunctionSettings.FUNCTION_LAUNCHER, "external" + noWorkers);
        boolean spills = checked.get(FunctionSettings.FUNCTION_SPILLOVER).isPresent();
        require(
                !spills,
                FunctionSettings.FUNCTION_SPILLOVER,
                "off, because in mode direct all requests are direct",
                FunctionSettings.FUNCTION_SPILLOVER);
        checkLambdaName();
    }

    private void checkSpillover(Spillover spillover) {
        require(
                spillover.after().compareTo(checked.get(FunctionSettings.FUNCTION_QUEUE_TIMEOUT)) < 0,
                FunctionSettings.FUNCTION_SPILLOVER,
                "less than function.queue-timeout",
                FunctionSettings.FUNCTION_SPILLOVER,
                FunctionSettings.FUNCTION_QUEUE_TIMEOUT);
        boolean launchesLambda = checked.get(FunctionSettings.FUNCTION_LAUNCHER) == Launcher.LAMBDA;
        if (!launchesLambda && spillover.lambda() == null) {
            checkLambdaName();
        }
    }

    /** Checks the name. If the setting is not set, the function's own name is used. */
    private void checkLambdaName() {
        Setting<String> setting = FunctionSettings.FUNCTION_LAMBDA;
        String lambda = checked.find(setting);
        if (lambda != null) {
            require(FunctionName.isOne(lambda), setting, setting.type().expected(), setting);
        } else {
            boolean valid = FunctionName.isOne(checked.get(FunctionSettings.FUNCTION_NAME));
            String expected = "a name that a Lambda function can have, or function.lambda to be set";
            require(valid, FunctionSettings.FUNCTION_NAME, expected, FunctionSettings.FUNCTION_NAME, setting);
        }
    }

    private void checkLocal(int maxWorkers) {
        require(
                maxWorkers > 0,
                FunctionSettings.FUNCTION_MAX_WORKERS,
                "1 or more with launcher local",
                FunctionSettings.FUNCTION_MAX_WORKERS);
        boolean hasCommand = !dispatcher.get(Settings.LOCAL_COMMAND).isEmpty();
        boolean hasEnvironment = !dispatcher.get(Settings.LOCAL_ENVIRONMENT).isEmpty();
        require(
                checked.isSet(FunctionSettings.FUNCTION_HANDLER) || hasCommand || hasEnvironment,
                FunctionSettings.FUNCTION_HANDLER,
                "a handler class, local.command, or a local.environment that selects an adapter, with launcher local",
                FunctionSettings.FUNCTION_HANDLER,
                Settings.LOCAL_COMMAND,
                Settings.LOCAL_ENVIRONMENT);
        if (!hasCommand) {
            checkHandler();
        }
        require(
                hasCommand || !dispatcher.isSet(Settings.WORKERS_TLS_CLIENT_CERTIFICATES),
                FunctionSettings.FUNCTION_LAUNCHER,
                "workers.tls.client-certificates not to be set, or local.command to be set, because a local worker has"
                        + " no certificate",
                Settings.LOCAL_COMMAND);
    }

    /** A worker without its handler class fails at its launch, perhaps long after the start. */
    private void checkHandler() {
        String handler = checked.find(FunctionSettings.FUNCTION_HANDLER);
        if (handler != null) {
            String name = handler.split("::", 2)[0];
            boolean missing = HandlerClass.isMissing(name, dispatcher.find(Settings.LOCAL_CLASS_PATH));
            require(
                    !missing,
                    FunctionSettings.FUNCTION_HANDLER,
                    "a class that is in local.class-path or in the class path of the dispatcher, with $ before a"
                            + " nested class",
                    FunctionSettings.FUNCTION_HANDLER,
                    Settings.LOCAL_COMMAND,
                    Settings.LOCAL_CLASS_PATH);
        }
    }

    private void checkLambda(int maxWorkers) {
        require(
                maxWorkers > 0,
                FunctionSettings.FUNCTION_MAX_WORKERS,
                "1 or more with launcher lambda",
                FunctionSettings.FUNCTION_MAX_WORKERS);
        require(
                !dispatcher.isSet(Settings.WORKERS_TLS_CLIENT_CERTIFICATES),
                FunctionSettings.FUNCTION_LAUNCHER,
                "workers.tls.client-certificates not to be set, because a worker on Lambda has no certificate");
        checkLambdaName();
    }

    private void checkExternal(int maxWorkers) {
        require(
                maxWorkers == 0,
                FunctionSettings.FUNCTION_MAX_WORKERS,
                "0 with launcher external, which launches no workers",
                FunctionSettings.FUNCTION_MAX_WORKERS,
                FunctionSettings.FUNCTION_LAUNCHER);
        require(
                !complete
                        || dispatcher.isSet(Settings.WORKERS_SECRET)
                        || checked.isSet(FunctionSettings.FUNCTION_SECRET),
                FunctionSettings.FUNCTION_LAUNCHER,
                "function.secret or workers.secret to be set, because external workers" + " sign their tokens with it");
        require(
                !complete
                        || dispatcher.isSet(Settings.WORKERS_SECRET)
                        || dispatcher.isSet(Settings.WORKERS_TLS_CERTIFICATE)
                        || !checked.isSet(FunctionSettings.FUNCTION_SECRET),
                FunctionSettings.FUNCTION_LAUNCHER,
                "workers.secret to be set beside function.secret, because the key of the worker"
                        + " port follows from it, and external workers must know that key");
    }
}
