package io.lambdadispatcher.server.config;

import io.lambdadispatcher.aws.FunctionName;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.FunctionConfiguration.Mode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Rules between the settings of one function, or of one of its routes. */
final class FunctionChecks extends Checks {
    private static final Duration SHORTEST_OVERFLOW = Duration.ofMillis(10);

    /** One entry of the fleet's ledger names all workers of a function. */
    private static final int MOST_WORKERS_IN_FLEET = 1800;

    private static final List<Setting<?>> ROUTE =
            List.of(Settings.FUNCTION_PATH, Settings.FUNCTION_HOST, Settings.FUNCTION_HEADER);

    FunctionChecks(SettingValues dispatcher, SettingValues checked, boolean complete, Consumer<String> problems) {
        super(dispatcher, checked, complete, problems);
    }

    /** Checks a setting that names another function. */
    void checkOther(Setting<String> setting, Map<String, SettingValues> names) {
        String other = checked.find(setting);
        if (other != null && complete) {
            boolean known = names.containsKey(other) && !other.equals(checked.get(Settings.FUNCTION_NAME));
            require(known, setting, "the name of another function", setting, Settings.FUNCTION_NAME);
        }
    }

    void checkNameAndRoute(Map<String, SettingValues> names, Map<Route, SettingValues> routes) {
        if (!checked.isInvalid(Settings.FUNCTION_NAME)) {
            SettingValues namesake = names.putIfAbsent(checked.get(Settings.FUNCTION_NAME), checked);
            if (namesake != null) {
                String expected = "a name other than that in " + namesake.source(Settings.FUNCTION_NAME);
                require(false, Settings.FUNCTION_NAME, expected);
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
            boolean ofOne = checked.get(Settings.FUNCTION_NAME).equals(other.get(Settings.FUNCTION_NAME));
            boolean weighted = !ofOne
                    && !checked.isDefault(Settings.FUNCTION_WEIGHT)
                    && !other.isDefault(Settings.FUNCTION_WEIGHT);
            String expected = "a path, host or header other than those of "
                    + (other.owner().isEmpty() ? "the function" : other.owner())
                    + (ofOne ? "" : ", or a weight for both");
            // If a name may be misspelt, it may be a part of the route.
            boolean routed = complete || !checked.isDefault(Settings.FUNCTION_PATH);
            require(weighted || !routed, Settings.FUNCTION_PATH, expected);
        }
    }

    void checkTraffic() {
        require(
                checked.get(Settings.FUNCTION_CACHE_STALE_IF_ERROR).compareTo(FunctionConfiguration.LONGEST_STALE) <= 0,
                Settings.FUNCTION_CACHE_STALE_IF_ERROR,
                "at most 365d");
        checkAdmission();
        for (ContentEncoding encoding : checked.get(Settings.FUNCTION_COMPRESSION)) {
            require(
                    encoding.isAvailable(),
                    Settings.FUNCTION_COMPRESSION,
                    encoding.artifact() + " on the class path for " + encoding.token(),
                    Settings.FUNCTION_COMPRESSION);
        }
        boolean retries = checked.get(Settings.FUNCTION_RETRY_ON).contains(RetryCondition.TIMEOUT);
        require(
                retries || checked.get(Settings.FUNCTION_ATTEMPT_TIMEOUT).isZero(),
                Settings.FUNCTION_ATTEMPT_TIMEOUT,
                "0, or function.retry-on to contain timeout",
                Settings.FUNCTION_RETRY_ON,
                Settings.FUNCTION_ATTEMPT_TIMEOUT);
    }

    private void checkAdmission() {
        int burst = checked.get(Settings.FUNCTION_RATE_LIMIT_BURST);
        require(
                burst
                        <= checked.get(Settings.FUNCTION_RATE_LIMIT)
                                .map(Rate::requests)
                                .orElse(burst),
                Settings.FUNCTION_RATE_LIMIT_BURST,
                "at most the number of requests of function.rate-limit",
                Settings.FUNCTION_RATE_LIMIT,
                Settings.FUNCTION_RATE_LIMIT_BURST);
        require(
                checked.isSet(Settings.FUNCTION_TENANT_HEADER)
                        || checked.get(Settings.FUNCTION_MAX_TENANT_REQUESTS) == 0,
                Settings.FUNCTION_MAX_TENANT_REQUESTS,
                "0, or function.tenant-header to be set",
                Settings.FUNCTION_TENANT_HEADER,
                Settings.FUNCTION_MAX_TENANT_REQUESTS);
        require(
                checked.get(Settings.FUNCTION_SHED_DELAY).compareTo(Duration.ofHours(1)) <= 0,
                Settings.FUNCTION_SHED_DELAY,
                "at most 1h",
                Settings.FUNCTION_SHED_DELAY);
    }

    void checkBreaker() {
        Duration open = checked.get(Settings.FUNCTION_BREAKER_OPEN);
        require(
                open.compareTo(Duration.ofMillis(100)) >= 0 && open.compareTo(Duration.ofHours(1)) <= 0,
                Settings.FUNCTION_BREAKER_OPEN,
                "100ms to 1h",
                Settings.FUNCTION_BREAKER_OPEN);
    }

    /** A route may switch off what its function has, so this concerns only functions. */
    private void checkUnused() {
        require(
                checked.get(Settings.FUNCTION_BREAKER_LATENCY).isZero()
                        || checked.get(Settings.FUNCTION_BREAKER_ERRORS) > 0,
                Settings.FUNCTION_BREAKER_LATENCY,
                "0, or function.breaker-errors to be set",
                Settings.FUNCTION_BREAKER_LATENCY,
                Settings.FUNCTION_BREAKER_ERRORS);
    }

    void checkFunction() {
        checkUnused();
        checkTraffic();
        checkEither(Settings.FUNCTION_SECRET, Settings.FUNCTION_SECRET_FILE);
        int maxWorkers = checked.get(Settings.FUNCTION_MAX_WORKERS);
        boolean inOrder = checked.get(Settings.FUNCTION_MIN_WORKERS) <= maxWorkers;
        require(
                inOrder,
                Settings.FUNCTION_MAX_WORKERS,
                "at least function.min-workers",
                Settings.FUNCTION_MAX_WORKERS,
                Settings.FUNCTION_MIN_WORKERS);
        require(
                !dispatcher.isSet(Settings.FLEET_TABLE) || maxWorkers <= MOST_WORKERS_IN_FLEET,
                Settings.FUNCTION_MAX_WORKERS,
                "at most " + MOST_WORKERS_IN_FLEET + " in a fleet (fleet.table)",
                Settings.FUNCTION_MAX_WORKERS,
                Settings.FLEET_TABLE);
        checkDownstream(maxWorkers);
        if (checked.isInvalid(Settings.FUNCTION_MODE) || checked.isInvalid(Settings.FUNCTION_LAUNCHER)) {
            return;
        }
        if (checked.get(Settings.FUNCTION_MODE) == Mode.DIRECT) {
            checkDirect(maxWorkers);
            return;
        }
        if (checked.get(Settings.FUNCTION_DIRECT_OVERFLOW)) {
            checkOverflow();
        }
        switch (checked.get(Settings.FUNCTION_LAUNCHER)) {
            case LOCAL -> checkLocal(maxWorkers);
            case LAMBDA -> checkLambda(maxWorkers);
            case SELF -> checkSelf(maxWorkers);
        }
    }

    private void checkDownstream(int maxWorkers) {
        int connections = checked.get(Settings.FUNCTION_DOWNSTREAM_CONNECTIONS);
        int perWorker = checked.get(Settings.FUNCTION_DOWNSTREAM_CONNECTIONS_PER_WORKER);
        if (connections == 0) {
            return;
        }
        require(
                maxWorkers > 0,
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                "0, because no workers are launched (function.max-workers is 0), so nothing limits their number",
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                Settings.FUNCTION_MAX_WORKERS);
        int workers = Math.max(1, checked.get(Settings.FUNCTION_MIN_WORKERS));
        long least = DownstreamBudget.least(perWorker, workers);
        require(
                connections >= least,
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                "at least " + least + ": " + perWorker + " (function.downstream-connections-per-worker) for each of "
                        + workers + " workers (function.min-workers) and of " + (least / perWorker - workers)
                        + " that replace others",
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS_PER_WORKER,
                Settings.FUNCTION_MIN_WORKERS);
    }

    private void checkDirect(int maxWorkers) {
        String noWorkers = ", because a function in mode direct has no workers";
        require(maxWorkers == 0, Settings.FUNCTION_MAX_WORKERS, "0" + noWorkers, Settings.FUNCTION_MAX_WORKERS);
        boolean self = checked.get(Settings.FUNCTION_LAUNCHER) == Launcher.SELF;
        require(self, Settings.FUNCTION_LAUNCHER, "self" + noWorkers);
        boolean overflow = checked.get(Settings.FUNCTION_DIRECT_OVERFLOW);
        require(!overflow, Settings.FUNCTION_DIRECT_OVERFLOW, "false, because in mode direct all requests are direct");
        checkDirectName();
    }

    private void checkOverflow() {
        Duration after = checked.get(Settings.FUNCTION_DIRECT_OVERFLOW_AFTER);
        boolean inRange = after.compareTo(SHORTEST_OVERFLOW) >= 0
                && after.compareTo(checked.get(Settings.FUNCTION_QUEUE_TIMEOUT)) < 0;
        String expected = "at least 10ms, and less than function.queue-timeout";
        require(
                inRange,
                Settings.FUNCTION_DIRECT_OVERFLOW_AFTER,
                expected,
                Settings.FUNCTION_DIRECT_OVERFLOW_AFTER,
                Settings.FUNCTION_QUEUE_TIMEOUT);
        boolean launchesLambda = checked.get(Settings.FUNCTION_LAUNCHER) == Launcher.LAMBDA;
        if (!launchesLambda || checked.isSet(Settings.FUNCTION_DIRECT_LAMBDA)) {
            checkDirectName();
        }
    }

    private void checkDirectName() {
        boolean own = checked.isSet(Settings.FUNCTION_DIRECT_LAMBDA);
        checkLambdaName(own ? Settings.FUNCTION_DIRECT_LAMBDA : Settings.FUNCTION_LAMBDA);
    }

    /** Checks the name. If the setting is not set, the function's own name is used. */
    private void checkLambdaName(Setting<String> setting) {
        String lambda = checked.find(setting);
        if (lambda != null) {
            require(FunctionName.isOne(lambda), setting, setting.type().expected(), setting);
        } else {
            boolean valid = FunctionName.isOne(checked.get(Settings.FUNCTION_NAME));
            String expected = "a name that a Lambda function can have, or function.lambda to be set";
            require(valid, Settings.FUNCTION_NAME, expected, Settings.FUNCTION_NAME, setting);
        }
    }

    private void checkLocal(int maxWorkers) {
        require(
                maxWorkers > 0,
                Settings.FUNCTION_MAX_WORKERS,
                "1 or more with launcher local",
                Settings.FUNCTION_MAX_WORKERS);
        boolean hasCommand = !dispatcher.get(Settings.LOCAL_COMMAND).isEmpty();
        boolean hasEnvironment = !dispatcher.get(Settings.LOCAL_ENVIRONMENT).isEmpty();
        require(
                checked.isSet(Settings.FUNCTION_HANDLER) || hasCommand || hasEnvironment,
                Settings.FUNCTION_HANDLER,
                "a handler class, local.command, or a local.environment that selects an adapter, with launcher local",
                Settings.FUNCTION_HANDLER,
                Settings.LOCAL_COMMAND,
                Settings.LOCAL_ENVIRONMENT);
        if (!hasCommand) {
            checkHandler();
        }
        require(
                hasCommand || !dispatcher.isSet(Settings.WORKERS_TLS_CLIENT_CERTIFICATES),
                Settings.FUNCTION_LAUNCHER,
                "workers.tls.client-certificates not to be set, or local.command to be set, because a local worker has"
                        + " no certificate",
                Settings.LOCAL_COMMAND);
    }

    /** A worker without its handler class fails at its launch, perhaps long after the start. */
    private void checkHandler() {
        String handler = checked.find(Settings.FUNCTION_HANDLER);
        if (handler != null) {
            String name = handler.split("::", 2)[0];
            boolean missing = HandlerClass.isMissing(name, dispatcher.find(Settings.LOCAL_CLASS_PATH));
            require(
                    !missing,
                    Settings.FUNCTION_HANDLER,
                    "a class that is in local.class-path or in the class path of the dispatcher, with $ before a"
                            + " nested class",
                    Settings.FUNCTION_HANDLER,
                    Settings.LOCAL_COMMAND,
                    Settings.LOCAL_CLASS_PATH);
        }
    }

    private void checkLambda(int maxWorkers) {
        require(
                maxWorkers > 0,
                Settings.FUNCTION_MAX_WORKERS,
                "1 or more with launcher lambda",
                Settings.FUNCTION_MAX_WORKERS);
        require(
                !dispatcher.isSet(Settings.WORKERS_TLS_CLIENT_CERTIFICATES),
                Settings.FUNCTION_LAUNCHER,
                "workers.tls.client-certificates not to be set, because a worker on Lambda has no certificate");
        checkLambdaName(Settings.FUNCTION_LAMBDA);
    }

    private void checkSelf(int maxWorkers) {
        require(
                maxWorkers == 0,
                Settings.FUNCTION_MAX_WORKERS,
                "0 with launcher self, which launches no workers",
                Settings.FUNCTION_MAX_WORKERS,
                Settings.FUNCTION_LAUNCHER);
        require(
                !complete
                        || dispatcher.isSet(Settings.WORKERS_SECRET)
                        || dispatcher.isSet(Settings.WORKERS_SECRET_FILE)
                        || checked.isSet(Settings.FUNCTION_SECRET)
                        || checked.isSet(Settings.FUNCTION_SECRET_FILE),
                Settings.FUNCTION_LAUNCHER,
                "function.secret, workers.secret or a file with one of them to be set, because self-launched workers"
                        + " sign their tokens with it");
        require(
                !complete
                        || dispatcher.isSet(Settings.WORKERS_SECRET)
                        || dispatcher.isSet(Settings.WORKERS_SECRET_FILE)
                        || dispatcher.isSet(Settings.WORKERS_TLS_CERTIFICATE)
                        || !checked.isSet(Settings.FUNCTION_SECRET) && !checked.isSet(Settings.FUNCTION_SECRET_FILE),
                Settings.FUNCTION_LAUNCHER,
                "workers.secret or workers.secret-file to be set beside function.secret, because the key of the worker"
                        + " port follows from it, and self-launched workers must know that key");
    }
}
